import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandlers } from '../../../src/index.ts';

/** Takes long enough for somebody to come between its start and its end. */
export const handlers = defineHandlers({
  async media_available() {
    await sleep(1000);
  },
});
