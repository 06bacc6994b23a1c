import type { Clock } from '../base/clock.ts';
import type { EventStore } from './event-store.ts';

/** A store that takes longer answers notifications with 503 before long, too. */
const PATIENCE_MS = 1000;

/** Finds out whether the store can commit, with one commit for all who ask at a time: many may ask, and each costs one. */
export class Probe {
  readonly #clock: Clock;
  #underWay: Promise<void> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Whether it has committed within a second.
   * @throws KitError STORE_UNAVAILABLE if it cannot
   */
  commits(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    this.#underWay ??= store.ping().finally(() => {
      this.#underWay = undefined;
    });
    return Promise.race([
      this.#underWay.then(() => true),
      new Promise<boolean>((resolve) => this.#clock.after(PATIENCE_MS, () => resolve(false))),
    ]);
  }

  /** The same for who need not know why it cannot, which the log says at each notification. */
  canRecord(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    return this.commits(store).catch(() => false);
  }
}
