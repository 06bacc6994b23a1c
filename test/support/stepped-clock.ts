import { type MonotonicClock, systemClock } from '../../src/base/clock.ts';
import { sinceBoot } from '../../src/base/since-boot.ts';

/** The machine's clock as somebody puts it forward or back: the time of day jumps, and timers go on as they were. */
export class SteppedClock implements MonotonicClock {
  #step = 0;

  now(): number {
    return systemClock.now() + this.#step;
  }

  monotonic(): number {
    return systemClock.monotonic();
  }

  sinceBoot() {
    return sinceBoot();
  }

  after(ms: number, fn: () => unknown): () => void {
    return systemClock.after(ms, fn);
  }

  /** Puts it forward by so many milliseconds, or back where they are negative. */
  step(ms: number): void {
    this.#step += ms;
  }
}
