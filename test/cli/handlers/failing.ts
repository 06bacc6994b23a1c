import { defineHandlers, fail } from '../../../src/index.ts';

/** Handlers of which one gives its events up. */
export const handlers = defineHandlers({
  async channel_created() {
    return fail('the page of live channels is down');
  },
});
