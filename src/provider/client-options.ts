import type { Clock } from '../base/clock.ts';
import type { RetryPolicy } from './retry.ts';

/** The options of both clients. Everything has a default. */
export interface ClientOptions extends Partial<RetryPolicy> {
  readonly fetch?: typeof fetch;
  /** For time-outs and waits; the machine's clock. */
  readonly clock?: Clock;
  /** A number in [0, 1), for the jitter of backoffs; Math.random. */
  readonly random?: () => number;
  /** How long an attempt may take, in milliseconds: 10000. */
  readonly timeoutMs?: number;
  /** Told before each wait for another attempt, for logs and progress. */
  readonly onRetry?: (retry: Retry) => void;
}

/** An attempt that failed and is to be followed by another. */
export interface Retry {
  /** Method and path, such as `GET /v2/webhooks`. */
  readonly operation: string;
  /** How many attempts there were. */
  readonly attempt: number;
  readonly waitMs: number;
  /** The status of the answer, or why there was none. */
  readonly reason: string;
}

/** The options of each call. */
export interface CallOptions {
  /** Aborts the call, also while it waits; it then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}
