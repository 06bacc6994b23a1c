import type { Clock } from '../base/clock.ts';

/** How soon is noticed what another process recorded. */
const POLL_MS = 500;

/**
 * Tells listeners that the ledger has something new: at once where this process recorded it, and by polling where another
 * one did. It polls only while somebody listens.
 */
export class Watch {
  readonly #clock: Clock;
  readonly #lastPlace: () => Promise<number>;
  readonly #listeners = new Set<() => void>();
  /** the last place of the ledger that listeners were told of */
  #known: number | undefined;
  #cancelPoll = () => {};

  /** @param lastPlace asks for the last place of the ledger */
  constructor(clock: Clock, lastPlace: () => Promise<number>) {
    this.#clock = clock;
    this.#lastPlace = lastPlace;
  }

  /** @returns a function that ends the listening */
  listen(listener: () => void): () => void {
    // A function of its own for each: the same listener may be given twice.
    const own = () => listener();
    if (this.#listeners.size === 0) this.#poll();
    this.#listeners.add(own);
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.stop();
    };
  }

  /** This process has recorded something. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  stop(): void {
    this.#listeners.clear();
    this.#known = undefined;
    this.#cancelPoll();
  }

  #poll(): void {
    this.#cancelPoll = this.#clock.after(POLL_MS, async () => {
      const last = await this.#lastPlace().catch(() => undefined); // a store in trouble says so where it is used
      if (this.#listeners.size === 0) return;
      if (last !== undefined && last !== this.#known) {
        this.#known = last;
        this.tell();
      }
      this.#poll();
    });
  }
}
