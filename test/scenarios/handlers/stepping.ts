import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

/** Does all of its work in a step, which takes long enough for somebody to come between. */
export const handlers = defineHandlers({
  async media_available(_event, ctx) {
    await ctx.once('publish', () => {
      ctx.log.info('it publishes');
      return sleep(2000, 'done');
    });
  },
});
