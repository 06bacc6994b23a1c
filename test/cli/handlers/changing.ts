import { defineApp, type ExpectedNotification } from '../../../src/index.ts';

const { RECONCILE_WAITS: waits } = process.env;

/** An app that expects four media at noon of 2026-01-01: three of the site `mine`, and one of another. */
export const app = defineApp({
  handlers: {
    media_available(_event, ctx) {
      ctx.state.set('origin', ctx.origin);
    },
  },
  subscribers: { search: { handlers: { media_available() {} } } },
  reconcile: {
    most: 3,
    async *expected(since, { signal }) {
      for (const media_id of ['came', 'lost', 'gone', 'quarantined']) {
        const event = media_id === 'gone' ? 'media_deleted' : 'media_available';
        const event_time = new Date(Math.max(since.getTime(), Date.UTC(2026, 0, 1, 12)));
        yield { event, media_id, site_id: 'mine', event_time } as ExpectedNotification;
      }
      if (waits) process.stderr.write('all is asked for\n');
      while (waits && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, 20));
    },
  },
});
