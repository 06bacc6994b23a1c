import { setTimeout as sleep } from 'node:timers/promises';
import type { Handlers } from '../../src/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';

/** Handlers of every kind that do nothing, for so many milliseconds. */
export function idleHandlers(ms = 0): Handlers {
  const handler = ms > 0 ? () => sleep(ms) : () => {};
  return Object.fromEntries([...kindNames, 'unknown'].map((kind) => [kind, handler]));
}

/** For a command, which is told of a module. */
export const handlers = idleHandlers();
