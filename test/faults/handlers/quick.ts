import { defineHandlers } from '../../../src/index.ts';

/** Is done at once, so that what is measured is the service. */
export const handlers = defineHandlers({ media_available() {} });
