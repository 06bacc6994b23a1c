import { fileURLToPath } from 'node:url';

/**
 * What HANDLERS is for processes of tests: the samples, never what somebody has written into src/handlers/. A copy of the
 * program has handlers of its own there.
 */
export const sampleHandlers = fileURLToPath(new URL('../../src/demo/handlers.ts', import.meta.url));

/** The environment of a process of the program in which a test has set nothing else. */
export const programEnv = { PATH: process.env.PATH ?? '', HANDLERS: sampleHandlers };
