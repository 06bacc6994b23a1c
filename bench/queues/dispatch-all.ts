import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { configuredDispatcher } from '../../src/dispatch/configured.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { idleHandlers } from '../targets/handlers.ts';

/** Hands so many events to handlers that do nothing, as the service does by default, until all results are stored. */
export async function dispatchAll(store: EventStore, events: number): Promise<void> {
  let handled = 0;
  await new Promise<void>((resolve) => {
    const dispatcher = configuredDispatcher(parseConfig({}), {
      store,
      handlers: idleHandlers(),
      clock: systemClock,
      log: pino({ level: 'warn' }),
      random: Math.random,
      observer: {
        answered() {},
        committed() {},
        ran: () => void (++handled === events && resolve()),
      },
    });
    dispatcher.start();
  });
}
