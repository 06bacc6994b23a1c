import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';

const SECOND_MS = 1000;
/** How many lines of a level are written in a second: a flood from many sources must not fill the disk. */
const MOST_LINES = 50;

/**
 * Gives a function that writes a line about a request that was not served: one a level, key and second, and not too many in all. The next line
 * says how many were left out. No header is ever logged, Authorization least of all, and no query string.
 */
export function requestLogOf(log: Pick<Logger, 'warn' | 'error'>, clock: MonotonicClock) {
  const count = counterBy(clock, SECOND_MS);
  let leftOut = 0;
  return (level: 'warn' | 'error', key: string, fields: object, message: string): void => {
    const isLeftOut = count(`${level} ${key}`) > 1 || count(level) > MOST_LINES;
    if (!isLeftOut) log[level](leftOut > 0 ? { ...fields, leftOut } : fields, message);
    leftOut = isLeftOut ? leftOut + 1 : 0;
  };
}

/** How many keys are counted at once; each takes about 100 bytes. */
const MOST_KEYS = 100_000;

/**
 * Counts by key, in stretches of time; with very many keys, a stretch ends early.
 * @returns a function that counts one more, and returns its number in this stretch, from 1
 */
export function counterBy(clock: MonotonicClock, stretchMs: number): (key: string) => number {
  const counts = new Map<string, number>();
  let began = Number.NEGATIVE_INFINITY;
  return (key) => {
    const now = clock.monotonic();
    if (now - began >= stretchMs || counts.size >= MOST_KEYS) {
      counts.clear();
      began = now;
    }
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count;
  };
}
