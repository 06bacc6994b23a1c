import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

/** Takes a little; media0 takes until it is told to stop. */
export const handlers = defineHandlers({
  async media_available(event, ctx) {
    await sleep(event.media_id === 'media0' ? 60_000 : 5, undefined, { signal: ctx.signal });
  },
});
