import type { Clock } from '../../src/base/clock.ts';

/** Longer than any wait in these tests; a timer of more than this is a time-out and fires only when told to. */
const LONG = 5_000_000;

/** A clock on which waits are over at once, and are noted. Time goes on by as much as was waited. */
export class WaitingClock implements Clock {
  readonly waits: number[] = [];
  #now = Date.UTC(2026, 0, 1);
  readonly #timeouts = new Set<() => unknown>();

  now(): number {
    return this.#now;
  }

  after(ms: number, fn: () => unknown): () => void {
    if (ms > LONG) {
      this.#timeouts.add(fn);
      return () => this.#timeouts.delete(fn);
    }
    this.waits.push(ms);
    this.#now += ms;
    queueMicrotask(fn);
    return () => undefined;
  }

  /** How many time-outs are running. */
  get pending(): number {
    return this.#timeouts.size;
  }

  /** Lets every time-out run out. */
  timeOut(): void {
    for (const fn of this.#timeouts) fn();
  }
}
