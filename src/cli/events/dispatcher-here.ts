import { systemClock } from '../../base/clock.ts';
import { keepHeapSmall } from '../../base/small-heap.ts';
import type { Config } from '../../config.ts';
import { configuredDispatcher } from '../../dispatch/configured.ts';
import type { Dispatcher } from '../../dispatch/dispatcher.ts';
import { loadApp } from '../../dispatch/load-handlers.ts';
import { openApp } from '../../dispatch/open-app.ts';
import type { EventStore } from '../../store/event-store.ts';
import { handlersHere } from '../handlers-here.ts';
import { stderrLog } from '../stderr-log.ts';

/** How many events go by between two collections. */
const COLLECT_EVERY = 5000;

/**
 * A dispatcher that runs the handlers in this process. If a handler ignores its stop, the process ends with the command: the
 * handler would go on beside a run of the same event in another process, once its lease has run out.
 */
export async function dispatcherHere(
  config: Config,
  store: EventStore,
): Promise<AsyncDisposable & { readonly dispatcher: Pick<Dispatcher, 'start' | 'stop'> }> {
  const log = stderrLog(config);
  await using ends = new AsyncDisposableStack();
  const here = ends.use(handlersHere(log));
  const app = await loadApp(config);
  const opened = await openApp(app, { log, clock: systemClock });
  ends.defer(() => opened.close());
  const collect = keepHeapSmall(COLLECT_EVERY);
  const dispatcher = configuredDispatcher(config, {
    store,
    handlers: app.handlers,
    app: opened.value,
    clock: systemClock,
    log,
    random: Math.random,
    observer: { answered() {}, committed() {}, ran: () => collect(1) },
  });
  const kept = ends.move();
  return {
    dispatcher: {
      start: () => dispatcher.start(),
      async stop(graceMs) {
        const left = await dispatcher.stop(graceMs);
        if (left > 0) here.endNow();
        return left;
      },
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
