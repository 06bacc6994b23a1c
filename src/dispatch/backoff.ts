export interface Backoff {
  /** the longest wait after the first attempt, in milliseconds; it doubles with each */
  readonly baseMs: number;
  /** no wait is longer, in milliseconds */
  readonly capMs: number;
  /** a number in [0, 1) */
  readonly random: () => number;
}

/**
 * How long to wait after a failed attempt: exponential with full jitter, so that what failed together does not come back
 * together.
 * @param attempt the one that failed, from 1
 */
export function backoffMs(attempt: number, { baseMs, capMs, random }: Backoff): number {
  return Math.floor(random() * Math.min(capMs, baseMs * 2 ** (attempt - 1)));
}
