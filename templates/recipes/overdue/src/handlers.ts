import { defineApp } from 'webhook-receiver-kit';
import { overdue } from './overdue.ts';

// The recipe is yours: change src/overdue.ts as you need. It is a subscriber of its own, so your handlers may take every kind, and
// set reminders.
export const app = defineApp({
  handlers: {},
  subscribers: {
    overdue: overdue({
      after: 'media_created',
      want: 'media_available',
      within: '30m',
      onOverdue(event, ctx) {
        ctx.log.error({ media: event.media_id }, 'the media is not available half an hour after its upload');
      },
    }),
  },
});
