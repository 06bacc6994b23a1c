// The kit for testing handlers: what their tests import. docs/testing.md shows it.

export type { CrashPlace, CrashPoint } from './crash-points.ts';
export { type Check, type EveryCrashOptions, everyCrash, type Scenario, type Start } from './every-crash.ts';
export type { KitOptions } from './kit-options.ts';
export { type MatrixOptions, matrix } from './matrix.ts';
export type { Happening, MembersOf } from './notifications.ts';
export {
  type KitEvent,
  type StatusesCall,
  type Taken,
  type TestReceiver,
  testReceiver,
} from './test-receiver.ts';
