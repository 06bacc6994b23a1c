import { fileURLToPath } from 'node:url';

/** What HANDLERS is for processes of tests: the samples, never what somebody has written into src/handlers/. */
export const sampleHandlers = fileURLToPath(new URL('../../src/cli/demo/handlers.ts', import.meta.url));
