import type { Clock } from '../base/clock.ts';
import type { EventStore } from './event-store.ts';

/** A store that takes longer than this soon makes the receiver answer with 503, too. */
const PATIENCE_MS = 1000;
/** From one check to the next: anybody can ask, and acks wait for the commits of the checks. */
const REST_MS = 50;

/** Checks whether the store can commit. Callers of the same moment share one commit, since each check costs one. */
export class Probe {
  readonly #clock: Clock;
  #underWay: Promise<void> | undefined;
  #rest = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Whether the store commits within a second.
   * @throws KitError STORE_UNAVAILABLE if it cannot
   */
  commits(store: Pick<EventStore, 'ping'>): Promise<boolean> {
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
