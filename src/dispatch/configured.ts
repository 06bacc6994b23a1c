import type { Logger } from 'pino';
import { systemClock } from '../base/clock.ts';
import { type Config, instanceNameOf } from '../config.ts';
import { StatusesClient } from '../provider/index.ts';
import type { EventStore } from '../store/event-store.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';
import { loadApp } from './load-handlers.ts';
import { openApp } from './open-app.ts';

type Needs = Pick<DispatcherOptions, 'store' | 'handlers' | 'clock' | 'log' | 'observer' | 'onLeft'> & {
  /** a number in [0, 1), for the jitter of retries */
  readonly random: () => number;
  /** in place of the configured one; undefined for none */
  readonly statuses?: StatusesClient | undefined;
  /** the value of `ctx.app` */
  readonly app?: unknown;
};

/** A dispatcher with the settings of the configuration, for every place that runs handlers. */
export function configuredDispatcher(config: Config, { random, ...needs }: Needs): Dispatcher {
  const instance = instanceNameOf(config);
  return new Dispatcher({
    ...needs,
    log: needs.log.child({ instance }),
    instance,
    concurrency: config.DISPATCH_CONCURRENCY,
    handlerTimeoutMs: config.HANDLER_TIMEOUT_MS,
    leaseMs: config.LEASE_MS,
    retry: {
      maxAttempts: config.RETRY_MAX_ATTEMPTS,
      baseMs: config.RETRY_BASE_MS,
      capMs: config.RETRY_CAP_MS,
      random,
    },
    statuses: 'statuses' in needs ? needs.statuses : statusesClientOf(config),
  });
}

/** `ctx.statuses` of handlers: the provider's scheduled statuses API, if it is configured. */
export function statusesClientOf({ STATUSES_BASE_URL, STATUSES_TOKEN }: Config): StatusesClient | undefined {
  if (STATUSES_BASE_URL === undefined || STATUSES_TOKEN === undefined) return undefined;
  // A handler has its own time-out, so it is better to wait longer between two attempts than within one.
  return new StatusesClient({ baseUrl: STATUSES_BASE_URL, token: STATUSES_TOKEN, maxWaitMs: 10_000 });
}

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
  { log, endNow }: Host,
): Promise<AsyncDisposable & { readonly dispatcher: Dispatcher }> {
  const app = await loadApp(config);
  const opened = await openApp(app, { log });
  const needs = {
    store,
    handlers: app.handlers,
    app: opened.value,
    clock: systemClock,
    log,
    random: Math.random,
  };
  const dispatcher = configuredDispatcher(config, { ...needs, onLeft: endNow });
  return { dispatcher, [Symbol.asyncDispose]: () => opened.close() };
}
