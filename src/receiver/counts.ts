import type { MonotonicClock } from '../base/clock.ts';

/** Each takes about 100 bytes. */
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
