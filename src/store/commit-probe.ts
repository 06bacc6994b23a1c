import type { MonotonicClock } from '../base/clock.ts';
import { isUnavailable } from '../base/errors.ts';
import type { EventStore } from './event-store.ts';

/** A store that takes longer than this soon makes the receiver answer with 503, too. */
const PATIENCE_MS = 1000;
/** From one check to the next: anybody can ask, and acks wait for the commits of the checks. */
const REST_MS = 50;

/** For so long an ack that could not be recorded says more than a check, which may find room or rights where acks do not. */
const REMEMBERED_MS = 5000;

/** Checks whether the store can commit. Callers of the same moment share one commit, since each check costs one. */
export class Probe {
  readonly #clock: MonotonicClock;
  /** the last ack that could not be recorded, if none was since */
  #failure: { readonly at: number; readonly error: unknown } | undefined;
  #underWay: Promise<void> | undefined;
  #rest = Promise.resolve();

  constructor(clock: MonotonicClock) {
    this.#clock = clock;
  }

  /** Remembers whether the store could record an ack. */
  noting<T>(recorded: Promise<T>): Promise<T> {
    recorded.then(
      () => {
        this.#failure = undefined;
      },
      (error) => {
        if (isUnavailable(error)) this.#failure = { at: this.#clock.monotonic(), error };
      },
    );
    return recorded;
  }

  /**
   * Whether the store commits within a second.
   * @throws KitError STORE_UNAVAILABLE if it cannot, or could not record the last ack, a moment ago
   */
  commits(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    const failure = this.#failure;
    if (failure && this.#clock.monotonic() - failure.at < REMEMBERED_MS) return Promise.reject(failure.error);
    this.#underWay ??= this.#check(store).finally(() => {
      this.#underWay = undefined;
    });
    return Promise.race([
      this.#underWay.then(() => true),
      new Promise<boolean>((resolve) => this.#clock.after(PATIENCE_MS, () => resolve(false))),
    ]);
  }

  async #check(store: Pick<EventStore, 'ping'>): Promise<void> {
    await this.#rest;
    this.#rest = new Promise((resolve) => this.#clock.after(REST_MS, resolve));
    await store.ping();
  }

  /** The same without the reason, which the log has at each notification. */
  canRecord(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    return this.commits(store).catch(() => false);
  }
}
