import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { configuredDispatcher } from '../../src/dispatch/configured.ts';
import type { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { idleHandlers } from '../targets/handlers.ts';

/** A dispatcher as the service has by default, for handlers that do nothing. */
export function idleDispatcher(store: EventStore, onRan: () => void): Dispatcher {
  return configuredDispatcher(parseConfig({}), {
    store,
    handlers: idleHandlers(),
    clock: systemClock,
    log: pino({ level: 'warn' }),
    random: Math.random,
    observer: { answered() {}, committed() {}, ran: onRan },
  });
}

/** Hands so many events to such a dispatcher, until all results are stored. */
export async function dispatchAll(store: EventStore, events: number): Promise<void> {
  let handled = 0;
  await new Promise<void>((resolve) => {
    idleDispatcher(store, () => void (++handled === events && resolve())).start();
  });
}
