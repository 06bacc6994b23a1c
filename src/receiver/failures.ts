import type { Store } from 'express-rate-limit';

/**
 * How often each source has failed in the current window of time. Each failure is told its own number: the library's own
 * store tells all that come at the same moment the number of the last, so that a burst is over the limit as a whole.
 */
export class Failures implements Store {
  readonly localKeys = true;
  readonly #windowMs: number;
  readonly #counts = new Map<string, number>();
  #began = Number.NEGATIVE_INFINITY;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  increment(source: string): { totalHits: number; resetTime: undefined } {
    const now = Date.now();
    // Either way, as the clock may be put back.
    if (Math.abs(now - this.#began) >= this.#windowMs) {
      this.#counts.clear();
      this.#began = now;
    }
    const totalHits = (this.#counts.get(source) ?? 0) + 1;
    this.#counts.set(source, totalHits);
    return { totalHits, resetTime: undefined };
  }

  decrement(): void {}

  resetKey(source: string): void {
    this.#counts.delete(source);
  }
}
