import type { Clock } from '../../base/clock.ts';
import { ApiError } from './api-error.ts';

/** Requests that one user, or one address without a token, has in a window. */
export const RATE_LIMIT = 300;
/** Length of a window in milliseconds; windows begin at multiples of it. */
export const RATE_WINDOW = 300_000;

/** Counts requests in fixed windows of the clock. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  #window = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Counts one request.
   * @param key whose it is
   * @returns the headers that every answer carries
   */
  count(key: string): Readonly<Record<string, string>> {
    const window = Math.floor(this.#clock.now() / RATE_WINDOW);
    if (window !== this.#window) this.#counts.clear();
    this.#window = window;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return {
      'X-RateLimit-Limit': String(RATE_LIMIT),
      'X-RateLimit-Remaining': String(Math.max(0, RATE_LIMIT - count)),
      'X-RateLimit-Reset': this.#reset(),
    };
  }

  /** @throws ApiError 429 where more requests were counted than the limit */
  enforce(key: string): void {
    if ((this.#counts.get(key) ?? 0) > RATE_LIMIT) throw new ApiError(429, 'Too many requests');
  }

  clear(): void {
    this.#counts.clear();
  }

  /** ISO 8601 with microseconds. The fraction of the second is that of now, as on the real servers. */
  #reset(): string {
    const now = this.#clock.now();
    const second = Math.floor(now / 1000) * 1000;
    const reset = second + RATE_WINDOW - (second % RATE_WINDOW) + (now % 1000);
    return new Date(reset).toISOString().replace('Z', '000Z');
  }
}
