import type { Clock } from '../base/clock.ts';

/** A clock whose timers can be cancelled together, and which waits for the work that each timer starts. */
export class ScopedClock implements Clock {
  readonly #clock: Clock;
  readonly #setOff: () => unknown;
  readonly #cancels = new Set<() => void>();

  /** @param setOff returns the work that a timer has started, so that a clock that waits for timers waits for it too */
  constructor(clock: Clock, setOff: () => unknown) {
    this.#clock = clock;
    this.#setOff = setOff;
  }

  now(): number {
    return this.#clock.now();
  }

  after(ms: number, fn: () => unknown): () => void {
    const cancel = this.#clock.after(ms, () => {
      this.#cancels.delete(cancel);
      fn();
      return this.#setOff();
    });
    this.#cancels.add(cancel);
    return () => {
      this.#cancels.delete(cancel);
      cancel();
    };
  }

  cancelAll(): void {
    for (const cancel of this.#cancels) cancel();
    this.#cancels.clear();
  }
}
