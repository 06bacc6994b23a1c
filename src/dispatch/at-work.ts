import { AsyncLocalStorage } from 'node:async_hooks';
import type { Claim } from '../store/event-store.ts';

/** The event whose handler something belongs to. */
export type EventAtWork = Pick<Claim, 'id' | 'kind' | 'resource' | 'starts'>;

/**
 * Follows all that a handler sets off, however late it runs: timers, promises, connections. There is one for the process, as
 * uncaught errors are of the process, too.
 */
const scope = new AsyncLocalStorage<EventAtWork | 'a handler file'>();

/** Runs code of an event's handler. Errors that it leaves behind are then known to be of this event. */
export function atWorkOn<T>(event: EventAtWork, work: () => T): T {
  return scope.run(event, work);
}

/** Loads files of handlers. Errors of timers and promises that they set off while loading are then known to be theirs. */
export function loading<T>(load: () => T): T {
  return scope.run('a handler file', load);
}

/** The event whose handler runs here; undefined where no handler does. */
export function atWork(): EventAtWork | 'a handler file' | undefined {
  return scope.getStore();
}
