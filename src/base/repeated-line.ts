import type { MonotonicClock } from './clock.ts';

/** How long a line about the same thing is left out after one. */
const QUIET_MS = 10_000;

/**
 * Bounds lines about something that is tried again and again: the first one is written, and from then on one in ten seconds at most,
 * with the number of those in between.
 */
export class RepeatedLine {
  readonly #clock: MonotonicClock;
  readonly #write: (fields: object) => void;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #leftOut = 0;

  constructor(clock: MonotonicClock, write: (fields: object) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  write(fields: object): void {
    const now = this.#clock.monotonic();
    if (now - this.#writtenAt < QUIET_MS) {
      this.#leftOut++;
      return;
    }
    this.#write(this.#leftOut > 0 ? { ...fields, leftOut: this.#leftOut } : fields);
    this.#writtenAt = now;
    this.#leftOut = 0;
  }
}
