import { defineHandlers } from '../../src/index.ts';

/** Goes on for ever, whatever its signal says, and keeps its process alive. */
export const handlers = defineHandlers({
  media_available() {
    setInterval(() => {}, 1000);
    return new Promise<void>(() => {});
  },
});
