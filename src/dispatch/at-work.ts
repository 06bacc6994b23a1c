import { AsyncLocalStorage } from 'node:async_hooks';
import type { Claim } from '../store/event-store.ts';

/** The event whose handler something belongs to. */
export type EventAtWork = Pick<Claim, 'id' | 'kind' | 'resource' | 'attempts'>;

/**
 * Follows whatever a handler sets off, however late it comes: its timers, its promises, its connections. It is one for the
 * process, as are the errors that nobody catches.
 */
const scope = new AsyncLocalStorage<EventAtWork | 'a handler file'>();

/** Runs something of an event's handler, so that what it leaves behind is known to be of this event. */
export function atWorkOn<T>(event: EventAtWork, work: () => T): T {
  return scope.run(event, work);
}

/** Loads files of handlers: what they set off beside any event is known to be theirs. */
export function loading<T>(load: () => T): T {
  return scope.run('a handler file', load);
}

/** Whose handler is at work here; undefined where it is none. */
export function atWork(): EventAtWork | 'a handler file' | undefined {
  return scope.getStore();
}
