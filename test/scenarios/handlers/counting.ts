import { defineHandlers } from '../../../src/index.ts';

/** Counts its runs in the state of the media. The first attempt kills the process behind the change. */
export const handlers = defineHandlers({
  media_available(_event, { state, attempt }) {
    state.set('runs', (state.get<number>('runs') ?? 0) + 1);
    if (attempt === 1) process.abort();
  },
});
