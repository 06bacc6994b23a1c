import { defineHandlers } from '../../../src/dispatch/handler.ts';

/** What comes is skipped, and nothing is logged of it. */
export const handlers = defineHandlers({});
