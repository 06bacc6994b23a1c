import { defineHandlers } from '../../../src/index.ts';

/** What comes is skipped, and nothing is logged of it. */
export const handlers = defineHandlers({});
