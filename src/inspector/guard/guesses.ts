import type { Logger } from 'pino';
import type { Clock } from '../../base/clock.ts';

/** What a token or a session allows. */
export type Right = 'change' | 'read';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** After so many wrong tokens within a minute, no token is checked. */
const WRONG_OF_A_SOURCE = 10;
const WRONG_IN_ALL = 100;

/**
 * Limits guesses of the admin token. Over the limit no token is checked, so that the right token gets the same answer as any other.
 * Guesses of strangers do not shut out a source that had the right token within a day: for that source, only its own wrong tokens count.
 * Nothing here waits, so that of guesses which come at one moment each sees those before it.
 * @param rightOf what a token allows; undefined if it is a wrong one
 * @returns a function that says the same of a token from a source, or after how many milliseconds one of this source will be checked
 */
export function guessesOf(rightOf: (token: string) => Right | undefined, clock: Clock, log: Logger) {
  /** the source of each wrong token of this minute */
  let wrong: string[] = [];
  let minuteEnds = 0;
  /** when each source had the right token last */
  const known = new Map<string, number>();

  return (source: string, token: string): Right | { readonly waitMs: number } | undefined => {
    const now = clock.now();
    if (now >= minuteEnds) {
      wrong = [];
      minuteEnds = now + MINUTE_MS;
    }
    const isKnown = now - (known.get(source) ?? Number.NEGATIVE_INFINITY) < DAY_MS;
    const own = wrong.filter((one) => one === source).length;
    if (own >= WRONG_OF_A_SOURCE || (wrong.length >= WRONG_IN_ALL && !isKnown))
      return { waitMs: minuteEnds - now };
    const right = rightOf(token);
    if (right) {
      known.set(source, now);
    } else {
      wrong.push(source);
      log.warn({ source }, 'wrong admin token');
    }
    return right;
  };
}
