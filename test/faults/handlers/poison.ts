import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

/** The oldest media's handler ends the process at once; the others' are at work when that happens. */
export const handlers = defineHandlers({
  async media_available(event, ctx) {
    if (event.media_id === 'poison') process.exit(7);
    await sleep(20, undefined, { signal: ctx.signal });
  },
});
