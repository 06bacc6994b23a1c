import type { Settlement, StoredEvent } from '../store/event-store.ts';
import type { Run } from './run-handler.ts';

export interface RetryPolicy {
  readonly maxAttempts: number;
  /** the longest wait after the first attempt, in milliseconds; it doubles with each */
  readonly baseMs: number;
  /** no wait is longer, in milliseconds */
  readonly capMs: number;
  /** a number in [0, 1) */
  readonly random: () => number;
}

/** The next status of an event after a run: handled, skipped, dead, or pending with its next attempt. */
export function settlementOf(run: Run, attempt: number, policy: RetryPolicy): Settlement {
  const { state } = run;
  switch (run.type) {
    case 'handled':
      return { status: 'handled', outcome: 'handled', state };
    case 'skip':
      return { status: 'skipped', outcome: 'skipped', error: run.reason, state };
    case 'fail':
    case 'dead':
      return { status: 'dead', outcome: 'failed', error: run.reason, state };
    default: {
      const { type: outcome, reason: error } = run;
      if (attempt >= policy.maxAttempts) return { status: 'dead', outcome, error };
      const after = (run.type === 'retry' ? run.after : undefined) ?? backoffMs(attempt, policy);
      return { status: 'pending', outcome, error, afterMs: Math.ceil(after) };
    }
  }
}

/**
 * The next state of an event whose run a stop cut short: pending, with the attempt taken back. A handler may be what stops
 * its process, in order and at every start, so a life takes back as many attempts as it has, and no more.
 */
export function releaseOf(
  { starts, attempts }: Pick<StoredEvent, 'starts' | 'attempts'>,
  { maxAttempts }: Pick<RetryPolicy, 'maxAttempts'>,
): Settlement {
  const taken = starts - attempts;
  if (taken < maxAttempts) return { status: 'pending', outcome: 'interrupted', isUncounted: true };
  const error =
    `stops of its process interrupted it more than ${maxAttempts} times, ${starts} starts in all: look whether the handler ` +
    'causes the stops, or set SHUTDOWN_GRACE_MS longer than it takes';
  return { status: attempts >= maxAttempts ? 'dead' : 'pending', outcome: 'interrupted', error };
}

/**
 * How long to wait after a failed attempt: exponential with full jitter, so that events which failed together are not
 * retried together.
 * @param attempt the one that failed, from 1
 */
export function backoffMs(
  attempt: number,
  { baseMs, capMs, random }: Omit<RetryPolicy, 'maxAttempts'>,
): number {
  return Math.floor(random() * Math.min(capMs, baseMs * 2 ** (attempt - 1)));
}
