import type { Store } from 'express-rate-limit';

/** Each takes about 100 bytes. */
const MOST_SOURCES = 100_000;

/**
 * How often each source has failed in the current window of time. Each failure is told its own number: the library's own
 * store tells all that come at the same moment the number of the last, so that a burst is over the limit as a whole.
 */
export class Failures implements Store {
  readonly localKeys = true;
  readonly #windowMs: number;
  readonly #limit: number;
  readonly #counts = new Map<string, number>();
  #began = Number.NEGATIVE_INFINITY;

  /** @param limit failures of a source that may pass in a window */
  constructor(windowMs: number, limit: number) {
    this.#windowMs = windowMs;
    this.#limit = limit;
  }

  /** Whether the next failure of a source is one too many. */
  isOver(source: string): boolean {
    this.#turnOver();
    return (this.#counts.get(this.#counted(source)) ?? 0) >= this.#limit;
  }

  increment(source: string): { totalHits: number; resetTime: undefined } {
    this.#turnOver();
    const counted = this.#counted(source);
    const totalHits = (this.#counts.get(counted) ?? 0) + 1;
    this.#counts.set(counted, totalHits);
    return { totalHits, resetTime: undefined };
  }

  #turnOver(): void {
    const now = Date.now();
    // Either way, as the clock may be put back.
    if (Math.abs(now - this.#began) < this.#windowMs) return;
    this.#counts.clear();
    this.#began = now;
  }

  /** Once very many have failed in one window, all others count as one: what verifies is taken all the same. */
  #counted(source: string): string {
    return this.#counts.size < MOST_SOURCES || this.#counts.has(source) ? source : 'others';
  }

  decrement(): void {}

  resetKey(source: string): void {
    this.#counts.delete(source);
  }
}
