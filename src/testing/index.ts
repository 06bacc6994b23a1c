// The kit for testing handlers: what their tests import. docs/testing.md shows it.

export type { Happening, MembersOf } from '../mock/notifications.ts';
export { type Check, type EveryCrashOptions, everyCrash, type Scenario, type Start } from './every-crash.ts';
export type { KitOptions } from './kit-options.ts';
export { type MatrixOptions, matrix } from './matrix.ts';
export { type TestReceiver, testReceiver } from './test-receiver.ts';
