import { z } from 'zod';
import { defineApp } from '../../src/index.ts';

/** An app whose settings are not there, unless a test sets them. */
export const app = defineApp({
  settings: z.object({
    CRM_URL: z.url(),
    CRM_TOKEN: z.string().min(16),
    CRM_PAGE_SIZE: z.coerce.number().int().default(100),
  }),
  start: ({ settings, log, state }) => ({
    app: { size: settings.CRM_PAGE_SIZE, left: () => state('media:UUhbHm6C') },
    close: () => log.info('the CRM is closed'),
  }),
  handlers: {
    async media_created(event, ctx) {
      const { size, left } = ctx.app;
      ctx.log.info({ media: event.media_id, size, left: await left() }, 'a media for the CRM');
      ctx.state.set('size', size);
    },
  },
});
