import type { Clock } from '../base/clock.ts';

/** How soon is noticed what another process recorded. */
const POLL_MS = 500;

/**
 * Tells listeners that the ledger has something new: at once where this process recorded it, and by polling where another
 * one did. It polls only while somebody listens.
 */
export class Watch {
  readonly #clock: Clock;
  readonly #settledPlace: () => Promise<number>;
  readonly #listeners = new Set<() => void>();
  #endPolling = () => {};

  /** @param settledPlace asks how far readers of the ledger may go */
  constructor(clock: Clock, settledPlace: () => Promise<number>) {
    this.#clock = clock;
    this.#settledPlace = settledPlace;
  }

  /** @returns a function that ends the listening */
  listen(listener: () => void): () => void {
    // A function of its own for each: the same listener may be given twice.
    const own = () => listener();
    this.#listeners.add(own);
    if (this.#listeners.size === 1) this.#startPolling();
    return () => {
      if (this.#listeners.delete(own) && this.#listeners.size === 0) this.stop();
    };
  }

  /** This process has recorded something. That stays so, and others are told, if a listener throws: its error is the process's. */
  tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  stop(): void {
    this.#listeners.clear();
    this.#endPolling();
  }

  #startPolling(): void {
    let isOver = false;
    let cancel = () => {};
    let known: number | undefined;
    const look = async (): Promise<void> => {
      const last = await this.#settledPlace().catch(() => known); // a store in trouble says so where it is used
      if (isOver) return;
      // The first time, it may have come since the listening began.
      const isNew = last !== known;
      known = last;
      cancel = this.#clock.after(POLL_MS, look);
      if (isNew) this.tell();
    };
    this.#endPolling = () => {
      isOver = true;
      cancel();
    };
    void look();
  }
}
