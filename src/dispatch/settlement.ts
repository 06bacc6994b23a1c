import type { Parts } from '../observer.ts';
import type { Claim, Settlement } from '../store/event-store.ts';
import { LONGEST_AFTER_MS } from './outcome.ts';
import type { Run } from './run-handler.ts';

export interface RetryPolicy extends Pick<Parts, 'config'> {
  /** a number in [0, 1), for the jitter of retries */
  readonly random: () => number;
}

/** How long an event waits for another instance, about. As instances poll every two seconds, the same pause each time might favour one for ever. */
const ELSEWHERE_MS = 10_000;

/** The settlement of an event, without its times and its log. */
export type Ending = Omit<Settlement, 'startedAt' | 'ms' | 'log'>;

/**
 * The settlement of an event after a run of its handler.
 * @param now milliseconds since the epoch
 */
export function endingOf(
  run: Run,
  { starts, attempts, askedAt }: Pick<Claim, 'starts' | 'attempts' | 'askedAt'>,
  policy: RetryPolicy,
  now: number,
): Ending {
  const left = { state: run.state, reminders: run.reminders };
  switch (run.type) {
    case 'handled':
      return { status: 'handled', outcome: 'handled', ...left, counts: true };
    case 'skip':
      return { status: 'skipped', outcome: 'skipped', error: run.reason, ...left, counts: true };
    case 'fail':
    case 'dead':
      return { status: 'dead', outcome: 'failed', error: run.reason, ...left, counts: true };
    case 'retry': {
      const asked = { outcome: 'retry', ...left, counts: false } as const;
      if (askedAt !== undefined && now - askedAt >= LONGEST_AFTER_MS)
        return { ...asked, status: 'dead', error: `it has asked to come back for 30 days: ${run.reason}` };
      const afterMs = run.after ?? pauseMs(starts, policy);
      return { ...asked, status: 'pending', error: run.reason, afterMs: Math.ceil(afterMs) };
    }
    case 'elsewhere': {
      const afterMs = Math.ceil(ELSEWHERE_MS * (0.9 + policy.random() / 5));
      return { status: 'pending', outcome: 'elsewhere', error: run.reason, afterMs, counts: false };
    }
    default: {
      const failed = { outcome: run.type, error: run.reason, counts: true } as const;
      const attempt = attempts + 1;
      if (attempt >= policy.config.RETRY_MAX_ATTEMPTS) return { ...failed, status: 'dead' };
      return { ...failed, status: 'pending', afterMs: pauseMs(attempt, policy) };
    }
  }
}

/** The settlement of an event whose run a stop cut short: it is ready at once, and the start uses up no attempt. */
export const RELEASE: Ending = { status: 'pending', outcome: 'interrupted', counts: false };

/**
 * The pause after a failed attempt: exponential, and drawn between half and all of it, so that events which failed together are not
 * retried together.
 * @param attempt the one that failed, from 1
 */
export function pauseMs(attempt: number, { config, random }: RetryPolicy): number {
  const longest = Math.min(config.RETRY_CAP_MS, config.RETRY_BASE_MS * 2 ** (attempt - 1));
  return Math.ceil(longest * (0.5 + random() / 2));
}
