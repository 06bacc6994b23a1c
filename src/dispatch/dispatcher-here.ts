import type { Logger } from 'pino';
import { keepHeapSmall } from '../base/bounded-heap.ts';
import { systemClock } from '../base/clock.ts';
import type { Config } from '../config.ts';
import type { EventStore } from '../store/event-store.ts';
import { configuredDispatcher } from './configured.ts';
import type { Dispatcher } from './dispatcher.ts';
import { loadApp } from './load-handlers.ts';
import { openApp } from './open-app.ts';

/** The process in which handlers run. */
interface Host {
  readonly log: Logger;
  /** ends the process with what it does now, whatever still runs in it */
  endNow(): void;
}

/**
 * A dispatcher that runs the configured handlers in this process. If a handler ignores its stop, the process is ended: the
 * handler would go on beside a run of the same event in another process, once its lease has run out.
 */
export async function dispatcherHere(
  config: Config,
  store: EventStore,
  host: Host,
): Promise<AsyncDisposable & { readonly dispatcher: Pick<Dispatcher, 'start' | 'stop' | 'unstored'> }> {
  const { log } = host;
  await using ends = new AsyncDisposableStack();
  const app = await loadApp(config, log);
  const opened = await openApp(app, { log, clock: systemClock });
  ends.defer(() => opened.close());
  keepHeapSmall();
  const dispatcher = configuredDispatcher(config, {
    store,
    handlers: app.handlers,
    app: opened.value,
    clock: systemClock,
    log,
    random: Math.random,
  });
  const kept = ends.move();
  return {
    dispatcher: {
      start: () => dispatcher.start(),
      get unstored() {
        return dispatcher.unstored;
      },
      async stop(graceMs) {
        const left = await dispatcher.stop(graceMs);
        if (left > 0) host.endNow();
        return left;
      },
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
