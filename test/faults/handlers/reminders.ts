import { setTimeout as pause } from 'node:timers/promises';
import { defineApp, defineHandlers } from '../../../src/index.ts';
import { note } from './diary-table.ts';

/** Long enough that reminders come due, and processes are killed, while it runs. */
const LONG_MS = 300;

const handlers = defineHandlers({
  media_created: (event, ctx) => ctx.remind('late', { at: new Date(event.event_time) }),
  async media_available(event, ctx) {
    ctx.forget('late');
    await pause(LONG_MS);
    await note(event, ctx);
  },
  reminder: note,
});

/** Each media has a reminder that is due at the time of its first event, unless it becomes available before. */
export const app = defineApp({
  handlers,
  schedule: {
    often: {
      every: '5s',
      async run(_, ctx) {
        await pause(LONG_MS);
        await note({}, ctx);
      },
    },
  },
});
