import { type Clock, pause, systemClock } from '../base/clock.ts';
import { VirtualClock } from '../base/virtual-clock.ts';
import { MockError } from './requests.ts';

interface Timer {
  readonly due: number;
  readonly fn: () => unknown;
  /** whether it is for the next step of an upload or a delivery */
  readonly isStep: boolean;
  cancel: () => void;
}

/** How often `settled` looks, in real time, whether everything has ended. */
const LOOK_MS = 5;

/**
 * The one clock of the mock. It runs as the machine's clock and can be moved ahead of it, or as a virtual clock. Before time
 * is moved beyond a timer, the clock waits for the deliveries that the timer has started.
 */
export class MockClock implements Clock {
  readonly isVirtual: boolean;
  readonly #base: Clock;
  readonly #timers = new Set<Timer>();
  readonly #sending = new Set<Promise<void>>();
  /** how far the time is ahead of the machine's clock */
  #ahead = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(base: Clock = systemClock) {
    this.#base = base;
    this.isVirtual = base !== systemClock;
  }

  now(): number {
    return this.#base.now() + this.#ahead;
  }

  after(ms: number, fn: () => unknown): () => void {
    return this.#set({ due: this.now() + Math.max(0, ms), fn, isStep: false, cancel() {} });
  }

  /** As `after`, for the next step of an upload or a delivery: the mock is busy until then. */
  step(ms: number, fn: () => unknown): () => void {
    return this.#set({ due: this.now() + Math.max(0, ms), fn, isStep: true, cancel() {} });
  }

  /** Holds time until a delivery has been sent. @param sent does not reject */
  hold(sent: Promise<void>): void {
    if (this.#sending.size === 0) this.after(0, () => {}); // who advances the clock waits for this timer
    this.#sending.add(sent);
    void sent.then(() => this.#sending.delete(sent));
  }

  /** Whether an upload is being processed, or a delivery has not ended. */
  get isBusy(): boolean {
    return this.#sending.size > 0 || this.#timers.values().some(({ isStep }) => isStep);
  }

  /** Resolves once nothing is under way; on a virtual clock, once everything that is due has been sent. */
  async settled(): Promise<void> {
    await this.#sent();
    while (!this.isVirtual && this.isBusy) await pause(systemClock, LOOK_MS);
  }

  /**
   * Moves the time forward and fires the timers that fall due, in order; one call after the other.
   * @throws MockError 409 if the clock cannot be moved forward
   */
  advance(ms: number): Promise<void> {
    const turn = this.#turn.then(() => this.#goForward(ms));
    this.#turn = turn.catch(() => {}); // the caller gets the error
    return turn;
  }

  /** Forgets all timers and what is being sent. */
  cancelAll(): void {
    for (const { cancel } of this.#timers) cancel();
    this.#timers.clear();
    this.#sending.clear();
  }

  #set(timer: Timer): () => void {
    this.#timers.add(timer);
    this.#arm(timer);
    return () => {
      timer.cancel();
      this.#timers.delete(timer);
    };
  }

  #arm(timer: Timer): void {
    timer.cancel = this.#base.after(Math.max(0, timer.due - this.now()), () => this.#fire(timer));
  }

  async #fire(timer: Timer): Promise<void> {
    if (this.now() < timer.due) return this.#arm(timer); // the machine's clock fires early what lies far ahead
    this.#timers.delete(timer);
    timer.fn();
    await this.#sent();
  }

  async #sent(): Promise<void> {
    while (this.#sending.size > 0) await Promise.all(this.#sending);
  }

  async #goForward(ms: number): Promise<void> {
    if (this.#base instanceof VirtualClock) return this.#base.advance(ms);
    if (this.isVirtual) throw new MockError(409, 'this clock cannot be moved forward');
    const end = this.now() + ms;
    for (let timer = this.#firstBy(end); timer; timer = this.#firstBy(end)) {
      timer.cancel();
      this.#ahead += Math.max(0, timer.due - this.now());
      await this.#fire(timer);
    }
    this.#ahead += Math.max(0, end - this.now());
    for (const timer of this.#timers) {
      timer.cancel();
      this.#arm(timer);
    }
  }

  #firstBy(end: number): Timer | undefined {
    const due = [...this.#timers].filter((timer) => timer.due <= end);
    return due.toSorted((one, other) => one.due - other.due)[0];
  }
}
