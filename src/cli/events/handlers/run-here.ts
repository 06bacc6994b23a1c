import { systemClock } from '../../../base/clock.ts';
import type { Config } from '../../../config.ts';
import { configuredDispatcher } from '../../../dispatch/configured.ts';
import type { Handlers } from '../../../dispatch/handler.ts';
import { guardProcess } from '../../../dispatch/process-guard.ts';
import type { EventStore } from '../../../store/event-store.ts';
import { stderrLog } from '../../stderr-log.ts';
import { ownsProcess } from '../../terminal.ts';
import { keepHeapSmall } from '../small-heap.ts';

const COLLECT_EVERY = 5000;

/** Handles whatever is ready in the store, in this process, until told to stop. */
export function runHere(store: EventStore, config: Config, handlers: Handlers): () => Promise<void> {
  const log = stderrLog(config);
  if (ownsProcess()) guardProcess(log);
  const dispatcher = configuredDispatcher(config, {
    store,
    handlers,
    clock: systemClock,
    log,
    random: Math.random,
    observer: { answered() {}, committed() {}, ran: keepHeapSmall(COLLECT_EVERY) },
  });
  dispatcher.start();
  return () => dispatcher.stop(config.SHUTDOWN_GRACE_MS);
}
