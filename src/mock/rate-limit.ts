import type { Clock } from '../base/clock.ts';

interface RateLimitOptions {
  readonly clock: Clock;
  /** how many requests one caller has in a window */
  readonly limit: number;
  /** windows begin at the multiples of this */
  readonly windowMs: number;
}

export type RateLimit = ReturnType<typeof rateLimit>;

/** Counts the requests of each caller in windows of one length. */
export function rateLimit({ clock, limit, windowMs }: RateLimitOptions) {
  const used = new Map<string, number>();
  let current = 0;
  return {
    limit,
    /** Counts one request. @returns how many the caller has left after it; negative if this one is too many */
    take(caller: string): number {
      const window = Math.floor(clock.now() / windowMs);
      if (window !== current) used.clear();
      current = window;
      const count = (used.get(caller) ?? 0) + 1;
      used.set(caller, count);
      return limit - count;
    },
    reset: () => used.clear(),
  };
}
