import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';

/** What a token or a session allows. */
export type Right = 'change' | 'read';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** After so many wrong tokens within a minute, no token is checked. */
const WRONG_OF_A_SOURCE = 10;
const WRONG_IN_ALL = 100;
/** The name in the log for sources whose tokens were not checked because of others. */
const OTHERS = 'others';

/**
 * Limits guesses of the admin token. Over the limit no token is checked, so that the right token gets the same answer as any other.
 * Guesses of strangers do not shut out a source that had the right token within a day: for that source, only its own wrong tokens count.
 * Nothing here waits, so that of guesses which come at one moment each sees those before it.
 * @param rightOf what a token allows; undefined if it is a wrong one
 * @returns a function that says the same of a token from a source, or after how many milliseconds one of this source will be checked
 */
export function guessesOf(rightOf: (token: string) => Right | undefined, clock: Clock, log: Logger) {
  /** of this minute, by source */
  const guesses = new Map<string, number>();
  /** when each source had the right token last */
  const known = new Map<string, number>();
  let wrongInAll = 0;
  let minuteEnds = 0;

  const endMinute = () => {
    for (const [source, count] of guesses)
      if (count > 1) log.warn({ source, guesses: count - 1 }, 'wrong admin token');
    guesses.clear();
    wrongInAll = 0;
  };
  /** Logs the first guess of a source at once; the end of the minute tells how many followed. */
  const add = (source: string) => {
    if (guesses.size === 0) {
      minuteEnds = clock.now() + MINUTE_MS;
      clock.after(MINUTE_MS, endMinute);
    }
    const count = (guesses.get(source) ?? 0) + 1;
    guesses.set(source, count);
    if (count === 1) log.warn({ source, guesses: count }, 'wrong admin token');
  };
  return (source: string, token: string): Right | { readonly waitMs: number } | undefined => {
    const now = clock.now();
    const isKnown = now - (known.get(source) ?? Number.NEGATIVE_INFINITY) < DAY_MS;
    const isSourceOver = (guesses.get(source) ?? 0) >= WRONG_OF_A_SOURCE;
    if (isSourceOver || (wrongInAll >= WRONG_IN_ALL && !isKnown)) {
      add(isSourceOver ? source : OTHERS);
      return { waitMs: Math.max(1, minuteEnds - now) };
    }
    const right = rightOf(token);
    if (right) {
      known.set(source, now);
    } else {
      wrongInAll++;
      add(source);
    }
    return right;
  };
}
