import { cut } from '../base/text.ts';
import { LONGEST_TEXT, shown } from '../base/thrown.ts';
import type { Slot } from '../notification/kinds.ts';
import type { Parts } from '../observer.ts';
import type { Claim, Settlement } from '../store/event-store.ts';

/** The return values of a handler; undefined means that the event is handled. */
export type Outcome =
  | { readonly type: 'skip' | 'fail'; readonly reason: string }
  | { readonly type: 'retry'; readonly reason: string; readonly after: number | undefined };

/** The longest pause that a handler may ask for, in milliseconds: 30 days; and the shortest. */
const LONGEST_AFTER_MS = 30 * 86_400_000;
const SHORTEST_AFTER_MS = 1000;

/**
 * Not for us: the event ends as `skipped`, with this reason.
 * @param reason cut at 4,000 characters
 * @throws TypeError if it is no string
 */
export function skip(reason: string): Outcome {
  return made({ type: 'skip', reason });
}

/**
 * Not yet: the handler runs again `after` so many milliseconds, or after a pause that grows. It uses up no attempt. An event that has
 * asked for 30 days ends as `dead`.
 * @param options `after` is between 1,000 (a second) and 30 days; `reason` is cut at 4,000 characters
 * @throws TypeError if they are anything else
 */
export function retry(options: { after?: number; reason: string }): Outcome {
  return made({ ...options, type: 'retry' });
}

/**
 * Never: the event ends as `dead` at once, with this reason, also if it has attempts left.
 * @param reason cut at 4,000 characters
 * @throws TypeError if it is no string
 */
export function fail(reason: string): Outcome {
  return made({ type: 'fail', reason });
}

/** The return value of a handler after the check. */
export type Returned =
  | { readonly type: 'handled' }
  | Outcome
  | { readonly type: 'error'; readonly reason: string };

/**
 * Checks the value that a handler returned. Any object with the members of an outcome is one, also if `skip`, `retry` or
 * `fail` did not make it. Its members are read once, and the value itself goes no further: another value becomes a text.
 * @throws TypeError if a member of an outcome is not as it must be
 */
export function parseReturned(value: unknown): Returned {
  if (value === undefined) return { type: 'handled' };
  const { type, reason, after }: Members = Object(value);
  if (type === 'skip' || type === 'retry' || type === 'fail') return made({ type, reason, after });
  const problem = 'a handler returns nothing, or the result of skip(), retry() or fail()';
  return { type: 'error', reason: `TypeError: ${problem}; this one returned ${shown(value)}` };
}

/** The members of an outcome, not checked yet. */
type Members = { readonly [member in 'type' | 'reason' | 'after']?: unknown };

function made({ type, reason, after }: Members & Pick<Outcome, 'type'>): Outcome {
  if (typeof reason !== 'string')
    throw new TypeError(`the reason of ${type}() must be a string, and this handler gave ${shown(reason)}`);
  const text = cut(reason, LONGEST_TEXT);
  if (type !== 'retry') return { type, reason: text };
  const isNumber = typeof after === 'number' && after >= SHORTEST_AFTER_MS && after <= LONGEST_AFTER_MS;
  if (isNumber || after === undefined) return { type, reason: text, after };
  const allowed = `a number of milliseconds between ${SHORTEST_AFTER_MS} (a second) and ${LONGEST_AFTER_MS} (30 days)`;
  throw new TypeError(`the after of retry() must be ${allowed}, and this handler gave ${shown(after)}`);
}

/** How a handler's run ended, with what it changed for its resource. Without a handler, `lacks` names its slot. */
export type Run = (Returned | { readonly type: 'dead' | 'timeout' | 'elsewhere'; readonly reason: string }) &
  Pick<Settlement, 'state' | 'reminders'> & { readonly lacks?: Slot };

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
        return { ...asked, status: 'dead', error: `it has asked for retries for 30 days: ${run.reason}` };
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
