import { defineHandlers } from '../../../src/index.ts';

export const handlers = defineHandlers({ media_available() {} });
