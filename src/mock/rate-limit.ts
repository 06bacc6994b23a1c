import type { Clock } from '../base/clock.ts';

export interface RateLimitOptions {
  readonly clock: Clock;
  /** how many requests one caller has in a window */
  readonly limit: number;
  readonly windowMs: number;
  /** where a window begins: at the multiples of its length, or at the first request of a caller that has none open */
  readonly begin: 'at multiples' | 'at first request';
}

/** Counts the requests of each caller in windows of one length. */
export class RateLimit {
  readonly limit: number;
  readonly #options: RateLimitOptions;
  readonly #windows = new Map<string, { readonly end: number; used: number }>();

  constructor(options: RateLimitOptions) {
    this.limit = options.limit;
    this.#options = options;
  }

  /**
   * Counts one request.
   * @param caller the credential, account or address that it counts for
   * @returns how many requests the caller has left after this one; negative if this one is too many
   */
  take(caller: string): number {
    const now = this.#options.clock.now();
    const open = this.#windows.get(caller);
    const window = open && now < open.end ? open : { end: this.#endAfter(now), used: 0 };
    if (window !== open) this.#forgetEnded(now);
    this.#windows.set(caller, window);
    window.used++;
    return this.limit - window.used;
  }

  clear(): void {
    this.#windows.clear();
  }

  #endAfter(now: number): number {
    const { windowMs, begin } = this.#options;
    return begin === 'at multiples' ? (Math.floor(now / windowMs) + 1) * windowMs : now + windowMs;
  }

  #forgetEnded(now: number): void {
    for (const [caller, { end }] of this.#windows) if (end <= now) this.#windows.delete(caller);
  }
}
