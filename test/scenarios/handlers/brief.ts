import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

/** Takes long enough for somebody to come between its start and its end. */
export const handlers = defineHandlers({
  async media_available(_event, ctx) {
    ctx.log.info('it begins');
    await sleep(1000);
  },
});
