import type { MonotonicClock } from './clock.ts';
import { type Timer, TimerQueue } from './timer-queue.ts';

/** A clock that stands still until `advance`. Timers fire in order of due time, then of creation. */
export class VirtualClock implements MonotonicClock {
  #now: number;
  readonly #timers = new TimerQueue();

  /** @param now where it starts, in milliseconds since the Unix epoch */
  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, fn: () => unknown): () => void {
    const timer = this.#timers.add(this.#now + Math.max(0, ms), fn);
    return () => this.#timers.remove(timer);
  }

  /** When the next timer is due, in milliseconds since the epoch; undefined where none waits. */
  nextDue(): number | undefined {
    return this.#timers.first()?.due;
  }

  /** Advances by `ms` and fires the timers that fall due; each waits for the promise of the timer before it. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (let timer = this.#timers.first(); timer && timer.due <= end; timer = this.#timers.first()) {
      this.#timers.remove(timer);
      this.#now = Math.max(this.#now, timer.due);
      await timer.fn();
    }
    this.#now = Math.max(this.#now, end); // a second advance under way at the same time may have gone further
  }

  /**
   * Goes to a time at once, as a machine that slept: each timer that is due by then fires once, in order, at that time. What
   * is set while they fire waits for the next call. Waits for no promise.
   * @param time milliseconds since the Unix epoch
   */
  leap(time: number): void {
    this.#now = Math.max(this.#now, time);
    const due: Timer[] = [];
    for (let timer = this.#timers.first(); timer && timer.due <= this.#now; timer = this.#timers.first()) {
      this.#timers.remove(timer);
      due.push(timer);
    }
    for (const { fn } of due) fn();
  }
}
