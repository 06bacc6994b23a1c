import { existsSync } from 'node:fs';
import { defineHandlers } from '../../../src/index.ts';

const NOTHING = new Int32Array(new SharedArrayBuffer(4));
/** What is thrown beside any handler, as by a connection that all of them share. */
let shared: Error | undefined;
setInterval(() => {
  const error = shared;
  shared = undefined;
  if (error) throw error;
}, 5).unref();

/** Each media's handler leaves something else behind. */
export const handlers = defineHandlers({
  async media_available(event, ctx) {
    switch (event.media_id) {
      case 'timer':
        setTimeout(() => {
          throw new Error('left in a timer', { cause: new Error('the cause of it') });
        }, 1);
        return undefined;
      case 'nothing':
        Promise.reject();
        return undefined;
      case 'listener':
        ctx.signal.addEventListener('abort', () => {
          throw new Error('left in a listener');
        });
        return new Promise(() => {});
      case 'awaited-by-nobody':
        ctx.once('step', () => Promise.reject(new Error('left in a step')));
        return undefined;
      case 'shared':
        shared = new Error('left in what is shared');
        return undefined;
      case 'exit':
        return process.exit(0);
      case 'blocking':
        while (!existsSync(process.env.GO_ON ?? '')) Atomics.wait(NOTHING, 0, 0, 50);
        return undefined;
      default:
        return undefined;
    }
  },
});
