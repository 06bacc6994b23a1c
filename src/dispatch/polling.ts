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
  /** told that something may be ready, and in which resources something is */
  readonly onPoll: (resources: readonly string[]) => void;
  readonly onError: (error: unknown) => void;
}

/** How often it looks: the longer nothing comes, the seldomer. */
const OFTEN_MS = 500;
const SELDOM_MS = 2000;
const SLOWER = 1.5;
/** How often ready events without a lane are looked for. There should be none. */
const SWEEP_MS = 30_000;

/** Looks for what nobody has told this process of: what waited until now, what others recorded, and what a crash left behind. */
export class Polling {
  readonly #options: PollingOptions;
  #underWay: Promise<void> | undefined;
  #isStopped = true;
  #everyMs = OFTEN_MS;
  #cancel = () => {};
  /** when the next look and the next sweep are due, and until when leases of others are spared; by the monotonic clock */
  #dueAt = 0;
  #sweepAt = 0;
  #sparedUntil = 0;

  constructor(options: PollingOptions) {
    this.#options = options;
  }

  /** The look that is under way. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay;
  }

  start(): void {
    this.#isStopped = false;
    this.#dueAt = this.#options.clock.monotonic();
    this.spare();
    this.#now();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Something came: from now on it looks often again. */
  often(): void {
    this.#everyMs = OFTEN_MS;
    if (!this.#underWay && this.#dueAt - this.#options.clock.monotonic() > OFTEN_MS) this.#in(OFTEN_MS);
  }

  /** The store failed, or this process stood still: leases of others may have run out that could not be renewed either. */
  spare(): void {
    this.#sparedUntil = this.#options.clock.monotonic() + this.#options.spareMs;
  }

  #in(ms: number): void {
    this.#cancel();
    if (this.#isStopped) return;
    const { clock } = this.#options;
    this.#dueAt = clock.monotonic() + ms;
    this.#cancel = clock.after(ms, () => this.#now());
  }

  #now(): void {
    this.#underWay ??= this.#look().finally(() => {
      this.#underWay = undefined;
      this.#in(this.#everyMs);
    });
  }

  async #look(): Promise<void> {
    const { store, clock, maxAttempts, spareMs, held, onPoll, onError } = this.#options;
    const now = clock.monotonic();
    if (now - this.#dueAt > spareMs) this.spare(); // as after SIGSTOP
    this.#everyMs = Math.min(this.#everyMs * SLOWER, SELDOM_MS);
    const found = (resources: readonly string[]) => {
      if (resources.length === 0) return false;
      this.#everyMs = OFTEN_MS;
      onPoll(resources);
      return !this.#isStopped;
    };
    onPoll([]);
    try {
      while (found(await store.wake()));
      if (now >= this.#sparedUntil) found(await store.recover({ held: held(), maxAttempts }));
      if (now < this.#sweepAt) return;
      if ((await store.sweep()) > 0) onPoll([]);
      this.#sweepAt = now + SWEEP_MS;
    } catch (error) {
      onError(error);
    }
  }
}
