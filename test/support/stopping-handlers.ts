import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../src/index.ts';

/** Makes its process stop in order, and ends as soon as it is told to. */
export const handlers = defineHandlers({
  async media_available(_event, ctx) {
    process.kill(process.pid, 'SIGTERM');
    await sleep(600_000, undefined, { signal: ctx.signal });
  },
});
