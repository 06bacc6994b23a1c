import type { MonotonicClock } from '../base/clock.ts';
import type { EventStore } from '../store/event-store.ts';

interface PollingOptions {
  readonly store: Pick<EventStore, 'wake' | 'recover' | 'sweep'>;
  readonly clock: MonotonicClock;
  /** an event that was lost to so many crashes and failures together is dead */
  readonly maxAttempts: number;
  /** how long the leases of others are spared after an error or a stall, milliseconds: those that live renew them in that time */
  readonly spareMs: number;
  /** the leases that this process holds */
  readonly held: () => readonly string[];
  /** told that something may be ready */
  readonly onPoll: () => void;
  readonly onError: (error: unknown) => void;
}

/** How often it looks: the longer nothing comes, the seldomer. */
const OFTEN_MS = 500;
const SELDOM_MS = 2000;
/** How often ready events without a lane are looked for. There should be none. */
const SWEEP_MS = 30_000;

/** Looks for what nobody has told this process of: what waited until now, what others recorded, and what a crash left behind. */
export class Polling {
  readonly #options: PollingOptions;
  #everyMs = OFTEN_MS;
  #cancel = () => {};
  #isStopped = false;
  /** when the next look and the next sweep are due, and until when leases of others are spared; by the monotonic clock */
  #dueAt = 0;
  #sweepAt = 0;
  #sparedUntil = 0;

  constructor(options: PollingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#dueAt = this.#options.clock.monotonic();
    this.spare();
    void this.#look();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Something came: from now on it looks often again. */
  often(): void {
    this.#everyMs = OFTEN_MS;
    if (this.#dueAt - this.#options.clock.monotonic() > OFTEN_MS) this.#lookIn(OFTEN_MS);
  }

  /** The store failed, or this process stood still: leases of others may have run out that could not be renewed either. */
  spare(): void {
    this.#sparedUntil = this.#options.clock.monotonic() + this.#options.spareMs;
  }

  #lookIn(ms: number): void {
    this.#cancel();
    if (this.#isStopped) return;
    const { clock } = this.#options;
    this.#dueAt = clock.monotonic() + ms;
    this.#cancel = clock.after(ms, () => void this.#look());
  }

  async #look(): Promise<void> {
    const { clock, spareMs, onError } = this.#options;
    if (clock.monotonic() - this.#dueAt > spareMs) this.spare(); // as after SIGSTOP
    this.#everyMs = Math.min(2 * this.#everyMs, SELDOM_MS);
    let found = 0;
    try {
      found = await this.#find();
    } catch (error) {
      onError(error);
    }
    if (found > 0) this.#everyMs = OFTEN_MS;
    this.#lookIn(found > 0 ? 0 : this.#everyMs); // the store wakes and recovers some hundred at a time
  }

  /** @returns how many resources have something ready that had nothing before */
  async #find(): Promise<number> {
    const { store, clock, maxAttempts, held, onPoll } = this.#options;
    const now = clock.monotonic();
    const woken = await store.wake();
    const mayRecover = !this.#isStopped && now >= this.#sparedUntil;
    const recovered = mayRecover ? await store.recover({ held: held(), maxAttempts }) : [];
    onPoll();
    if (!this.#isStopped && now >= this.#sweepAt) {
      await store.sweep();
      this.#sweepAt = now + SWEEP_MS;
    }
    return woken.length + recovered.length;
  }
}
