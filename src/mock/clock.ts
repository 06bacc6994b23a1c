import { type Clock, pause, systemClock } from '../base/clock.ts';
import { VirtualClock } from '../base/virtual-clock.ts';

/** How often `settled` looks, in real time, whether everything has ended. */
const LOOK_MS = 5;

/**
 * The one clock of the mock: a virtual clock, or the machine's clock, which can be moved ahead. Before time is moved beyond a
 * timer, the clock waits for the deliveries that the timer has started.
 */
export class MockClock implements Clock {
  readonly isVirtual: boolean;
  /** has all timers; in real time it follows the machine's clock, from timer to timer */
  readonly #timers: VirtualClock;
  /** cancels each timer of the mock: others may have some on a virtual clock */
  readonly #own = new Map<() => void, { readonly isStep: boolean }>();
  readonly #sending = new Set<Promise<void>>();
  /** in real time: how far the time is ahead of the machine's clock */
  #ahead = 0;
  #cancelWaking = () => {};
  #turn: Promise<unknown> = Promise.resolve();

  constructor(virtual?: VirtualClock) {
    this.isVirtual = virtual !== undefined;
    this.#timers = virtual ?? new VirtualClock(systemClock.now());
  }

  now(): number {
    return this.isVirtual ? this.#timers.now() : systemClock.now() + this.#ahead;
  }

  after(ms: number, fn: () => unknown, { isStep = false } = {}): () => void {
    const fire = () => {
      this.#own.delete(cancel);
      fn();
      return this.#sent();
    };
    const unset = this.#timers.after(this.now() + Math.max(0, ms) - this.#timers.now(), fire);
    const cancel = () => {
      unset();
      this.#own.delete(cancel);
    };
    this.#own.set(cancel, { isStep });
    this.#wakeInTime();
    return cancel;
  }

  /** As `after`, for the next step of an upload or a delivery: the mock is busy until then. */
  step(ms: number, fn: () => unknown): () => void {
    return this.after(ms, fn, { isStep: true });
  }

  /** Holds time until a delivery has been sent. @param sent does not reject */
  hold(sent: Promise<void>): void {
    if (this.#sending.size === 0) this.after(0, () => {}); // who advances the clock waits for this timer
    this.#sending.add(sent);
    void sent.then(() => this.#sending.delete(sent));
  }

  /** Whether an upload is being processed, or a delivery has not ended. */
  get isBusy(): boolean {
    return this.#sending.size > 0 || this.#own.values().some(({ isStep }) => isStep);
  }

  /** Resolves once nothing is under way; on a virtual clock, once everything that is due has been sent. */
  async settled(): Promise<void> {
    await this.#sent();
    while (!this.isVirtual && this.isBusy) await pause(systemClock, LOOK_MS);
  }

  /** Moves the time forward and fires the timers that fall due, in order; one call after the other. */
  advance(ms: number): Promise<void> {
    const turn = this.#turn.then(() => this.#goForward(ms));
    this.#turn = turn.catch(() => {}); // the caller gets the error
    return turn;
  }

  /** Forgets all timers and what is being sent. */
  cancelAll(): void {
    for (const cancel of this.#own.keys()) cancel();
    this.#sending.clear();
  }

  /** In real time, sets one timer of the machine, for the timer that is due first. */
  #wakeInTime(): void {
    this.#cancelWaking();
    const due = this.#timers.nextDue();
    if (this.isVirtual || due === undefined) return;
    this.#cancelWaking = systemClock.after(Math.max(0, due - this.now()), () => this.#fireDue());
  }

  /** Fires what is due in real time, and waits for no delivery. */
  #fireDue(): void {
    this.#timers.leap(this.now());
    this.#wakeInTime();
  }

  async #sent(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  async #goForward(ms: number): Promise<void> {
    if (this.isVirtual) return this.#timers.advance(ms);
    const end = this.now() + ms;
    for (let due = this.#timers.nextDue(); due !== undefined && due <= end; due = this.#timers.nextDue()) {
      this.#ahead += Math.max(0, due - this.now());
      this.#fireDue();
      await this.#sent();
    }
    this.#ahead += Math.max(0, end - this.now());
    this.#wakeInTime();
  }
}
