import { type Clock, systemClock } from '../base/clock.ts';
import { TimerQueue } from '../base/timer-queue.ts';

/** A clock whose time can be moved forward, as that of the virtual clock. */
export interface AdvanceableClock extends Clock {
  /** Moves the time forward by `ms`, and fires the timers that fall due, in order. */
  advance(ms: number): Promise<void>;
}

/** Whether the time of a clock can be moved forward. */
export function isAdvanceable(clock: Clock): clock is AdvanceableClock {
  return 'advance' in clock && typeof clock.advance === 'function';
}

/**
 * A clock that runs like another one, but can be moved forward: the timers that fall due then fire at once, in order.
 * So a publish start or a retry that lies minutes ahead can be tried out while everything else goes on in real time.
 */
export class SkewedClock implements AdvanceableClock {
  readonly #base: Clock;
  readonly #timers = new TimerQueue();
  #skew = 0;
  #disarm: () => void = () => {};

  constructor(base: Clock = systemClock) {
    this.#base = base;
  }

  now(): number {
    return this.#base.now() + this.#skew;
  }

  after(ms: number, fn: () => unknown): () => void {
    const timer = this.#timers.add(this.now() + Math.max(0, ms), fn);
    if (this.#timers.first() === timer) this.#arm();
    return () => this.#timers.remove(timer);
  }

  async advance(ms: number): Promise<void> {
    const end = this.now() + ms;
    for (let timer = this.#timers.first(); timer && timer.due <= end; timer = this.#timers.first()) {
      this.#timers.remove(timer);
      this.#skipTo(timer.due);
      await timer.fn();
    }
    this.#skipTo(end);
    this.#arm();
  }

  #skipTo(time: number): void {
    this.#skew += Math.max(0, time - this.now());
  }

  #arm(): void {
    this.#disarm();
    const first = this.#timers.first();
    if (first) this.#disarm = this.#base.after(Math.max(0, first.due - this.now()), () => this.#fire());
  }

  #fire(): void {
    const now = this.now();
    for (let timer = this.#timers.first(); timer && timer.due <= now; timer = this.#timers.first()) {
      this.#timers.remove(timer);
      void timer.fn();
    }
    this.#arm();
  }
}
