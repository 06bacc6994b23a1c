import type { MonotonicClock } from './clock.ts';

/** How long a line about the same thing is left out after one. */
const QUIET_MS = 10_000;

/**
 * Bounds lines about something that is tried again and again: the first one is written, and from then on one in ten seconds at most,
 * with the number of those in between.
 */
export function repeatedLine(clock: MonotonicClock, write: (fields: object) => void) {
  let writtenAt = Number.NEGATIVE_INFINITY;
  let leftOut = 0;
  return (fields: object): void => {
    const now = clock.monotonic();
    if (now - writtenAt < QUIET_MS) {
      leftOut++;
      return;
    }
    write(leftOut > 0 ? { ...fields, leftOut } : fields);
    writtenAt = now;
    leftOut = 0;
  };
}
