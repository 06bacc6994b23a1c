import type { MonotonicClock } from '../base/clock.ts';

const WINDOW_MS = 60_000;
/** Each takes about 100 bytes. */
const MOST_SOURCES = 100_000;

/** How often each source has failed in the current minute. */
export class Failures {
  readonly #clock: MonotonicClock;
  readonly #counts = new Map<string, number>();
  #began = Number.NEGATIVE_INFINITY;

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  of(source: string): number {
    this.#turnOver();
    return this.#counts.get(this.#counted(source)) ?? 0;
  }

  /** Counts one more failure of a source. @returns its number: of a burst, each failure has a number of its own */
  add(source: string): number {
    const count = this.of(source) + 1;
    this.#counts.set(this.#counted(source), count);
    return count;
  }

  #turnOver(): void {
    const now = this.#clock.monotonic();
    if (now - this.#began < WINDOW_MS) return;
    this.#counts.clear();
    this.#began = now;
  }

  /** Once very many have failed in one minute, all others count as one: a notification that verifies is never throttled. */
  #counted(source: string): string {
    return this.#counts.size < MOST_SOURCES || this.#counts.has(source) ? source : 'others';
  }
}
