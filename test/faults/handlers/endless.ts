import { defineApp, defineHandlers } from '../../../src/index.ts';

const never = new Promise<never>(() => {});

/** Neither its handlers nor its close ever end, and no signal changes that. */
export const app = defineApp({
  handlers: defineHandlers({ media_available: () => never }),
  start: () => ({ app: undefined, close: () => never }),
});
