import { pino } from 'pino';
import { systemClock } from '../../src/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { idleHandlers } from '../targets/handlers.ts';

/** Hands so many events to handlers that do nothing, as the service does by default, until all results are stored. */
export async function dispatchAll(store: EventStore, events: number): Promise<void> {
  const config = parseConfig({});
  let handled = 0;
  await new Promise<void>((resolve) => {
    const dispatcher = new Dispatcher({
      store,
      handlers: idleHandlers(),
      clock: systemClock,
      log: pino({ level: 'warn' }),
      concurrency: config.DISPATCH_CONCURRENCY,
      handlerTimeoutMs: config.HANDLER_TIMEOUT_MS,
      leaseMs: config.LEASE_MS,
      retry: {
        maxAttempts: config.RETRY_MAX_ATTEMPTS,
        baseMs: config.RETRY_BASE_MS,
        capMs: config.RETRY_CAP_MS,
        random: Math.random,
      },
      observer: {
        answered() {},
        committed() {},
        ran: () => void (++handled === events && resolve()),
      },
    });
    dispatcher.start();
  });
}
