import { cut } from '../base/text.ts';
import { LONGEST_TEXT, shown } from '../base/thrown.ts';

/** The return values of a handler; undefined means that the event is handled. */
export type Outcome =
  | { readonly type: 'skip' | 'fail'; readonly reason: string }
  | { readonly type: 'retry'; readonly reason: string; readonly after: number | undefined };

/** The longest pause that a handler may ask for, in milliseconds: 30 days; and the shortest. */
export const LONGEST_AFTER_MS = 30 * 86_400_000;
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
  throw new TypeError(`the after of retry() is ${allowed}, and this handler gave ${shown(after)}`);
}
