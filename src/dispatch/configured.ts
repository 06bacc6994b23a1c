import { type Config, instanceNameOf } from '../config.ts';
import { StatusesClient } from '../provider/index.ts';
import { Dispatcher, type DispatcherOptions } from './dispatcher.ts';

type Configured = 'instance' | 'concurrency' | 'handlerTimeoutMs' | 'leaseMs' | 'retry';

interface Needs extends Omit<DispatcherOptions, Configured> {
  /** a number in [0, 1), for the jitter of retries */
  readonly random: () => number;
}

/** A dispatcher with the settings of the configuration, for every place that runs handlers. */
export function configuredDispatcher(config: Config, { random, ...needs }: Needs): Dispatcher {
  const instance = instanceNameOf(config);
  const { RETRY_MAX_ATTEMPTS: maxAttempts, RETRY_BASE_MS: baseMs, RETRY_CAP_MS: capMs } = config;
  return new Dispatcher({
    ...needs,
    log: needs.log.child({ instance }),
    instance,
    concurrency: config.DISPATCH_CONCURRENCY,
    handlerTimeoutMs: config.HANDLER_TIMEOUT_MS,
    leaseMs: config.LEASE_MS,
    retry: { maxAttempts, baseMs, capMs, random },
  });
}

/** `ctx.statuses` of handlers: the provider's scheduled statuses API, if it is configured. */
export function statusesClientOf({ STATUSES_BASE_URL, STATUSES_TOKEN }: Config): StatusesClient | undefined {
  if (STATUSES_BASE_URL === undefined || STATUSES_TOKEN === undefined) return undefined;
  // A handler has its own time-out, so it is better to wait longer between two attempts than within one.
  return new StatusesClient({ baseUrl: STATUSES_BASE_URL, token: STATUSES_TOKEN, maxWaitMs: 10_000 });
}
