import { defineApp, defineHandlers } from '../../../src/index.ts';

const handlers = defineHandlers({
  media_available(_event, ctx) {
    ctx.remind('publish', { after: 60_000, data: { page: 1 } });
    ctx.forget('remove');
  },
  reminder: (event, ctx) => ctx.state.set(event.name, event.data as object),
});

/** An app with reminders, of a subscriber too, and schedules. */
export const app = defineApp({
  handlers,
  subscribers: { search: { handlers } },
  schedule: {
    digest: { every: '1h', run: (tick, ctx) => ctx.state.set('last', tick.due_at) },
    report: { cron: '0 6 * * *', zone: 'Europe/Berlin', run() {} },
  },
});
