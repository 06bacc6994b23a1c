import type { MonotonicClock } from './clock.ts';

/** A clock that stands still until `advance`. Timers fire in order of due time, then of creation. */
export class VirtualClock implements MonotonicClock {
  #now: number;
  /** in the order in which they fire; `due` is in milliseconds since the Unix epoch */
  readonly #timers: { readonly due: number; readonly fn: () => unknown }[] = [];

  /** @param now where it starts, in milliseconds since the Unix epoch */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  readonly now = (): number => this.#now;
  readonly monotonic = this.now;

  after(ms: number, fn: () => unknown): () => void {
    const timer = { due: this.#now + Math.max(0, ms), fn };
    // From the end, where most new timers belong.
    this.#timers.splice(this.#timers.findLastIndex(({ due }) => due <= timer.due) + 1, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  /** When the next timer is due, in milliseconds since the epoch; undefined where none waits. */
  nextDue(): number | undefined {
    return this.#timers[0]?.due;
  }

  /** Advances by `ms` and fires the timers that fall due; each waits for the promise of the timer before it. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let timer = this.#timers[0]; timer && timer.due <= end; timer = this.#timers[0]) {
      this.#timers.shift();
      this.#now = Math.max(this.#now, timer.due);
      await timer.fn();
    }
    this.#now = Math.max(this.#now, end); // a second advance under way at the same time may have gone further
  }

  /**
   * Goes to a time at once, as a machine that slept: each timer that is due by then fires once, in order, at that time. A timer that
   * is set while they fire waits for the next call. Waits for no promise.
   * @param time milliseconds since the Unix epoch
   */
  leap(time: number): void {
    this.#now = Math.max(this.#now, time);
    const later = this.#timers.findIndex(({ due }) => due > this.#now);
    for (const { fn } of this.#timers.splice(0, later < 0 ? this.#timers.length : later)) fn();
  }
}
