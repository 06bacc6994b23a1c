import { defineHandlers } from '../../src/index.ts';

/** One media's handler ends the process, another's kills it. */
export const handlers = defineHandlers({
  media_available(event) {
    if (event.media_id === 'media1') process.exit(7);
    if (event.media_id === 'media2') process.abort();
    return undefined;
  },
});
