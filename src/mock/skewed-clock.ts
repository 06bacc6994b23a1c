import { type Clock, systemClock } from '../base/clock.ts';
import { VirtualClock } from '../base/virtual-clock.ts';

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
  /** holds the timers; its time is that of the last timer that fired */
  readonly #timers: VirtualClock;
  #skew = 0;
  #disarm: () => void = () => {};

  constructor(base: Clock = systemClock) {
    this.#base = base;
    this.#timers = new VirtualClock(base.now());
  }

  now(): number {
    return Math.max(this.#base.now() + this.#skew, this.#timers.now());
  }

  after(ms: number, fn: () => unknown): () => void {
    const cancel = this.#timers.after(this.now() + Math.max(0, ms) - this.#timers.now(), fn);
    this.#arm();
    return cancel;
  }

  async advance(ms: number): Promise<void> {
    const end = this.now() + ms;
    await this.#timers.advance(end - this.#timers.now());
    this.#skew = Math.max(this.#skew, end - this.#base.now());
    this.#arm();
  }

  #arm(): void {
    this.#disarm();
    const due = this.#timers.nextDue();
    if (due === undefined) return;
    this.#disarm = this.#base.after(Math.max(0, due - this.now()), () => {
      this.#timers.leap(this.now());
      this.#arm();
    });
  }
}
