import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { configuredDispatcher } from '../../src/dispatch/configured.ts';
import type { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { Handlers } from '../../src/index.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { idleHandlers } from '../targets/handlers.ts';

interface IdleOptions {
  /** told of each result that is stored */
  readonly onRan?: () => void;
  /** in place of those that do nothing */
  readonly handlers?: Handlers;
}

/** A dispatcher as the service has by default, for handlers that take no time. */
export function idleDispatcher(
  store: EventStore,
  { onRan = () => {}, handlers = idleHandlers() }: IdleOptions,
): Dispatcher {
  return configuredDispatcher(parseConfig({}), {
    store,
    handlers,
    clock: systemClock,
    log: pino({ level: 'warn' }),
    random: Math.random,
    observer: { answered() {}, committed() {}, secretsFound() {}, ran: onRan },
  });
}

/** Hands so many events to such a dispatcher, until all results are stored. */
export async function dispatchAll(store: EventStore, events: number): Promise<void> {
  let handled = 0;
  await new Promise<void>((resolve) => {
    idleDispatcher(store, { onRan: () => void (++handled === events && resolve()) }).start();
  });
}
