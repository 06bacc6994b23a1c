// The kit for testing handlers: what their tests import. docs/testing.md shows it.

export { type Check, type EveryCrashOptions, everyCrash, type Scenario, type Start } from './every-crash.ts';
export type { KitOptions } from './kit-options.ts';
export { type MatrixOptions, matrix } from './matrix.ts';
export type { Happening, MembersOf } from './notifications.ts';
export { type TestReceiver, testReceiver } from './test-receiver.ts';
