import { defineHandlers } from '../../../src/dispatch/handler.ts';

/** Is done at once, so that what is measured is the service. */
export const handlers = defineHandlers({ media_available() {} });
