import type { EventStore } from './event-store.ts';

/** A store that takes longer than this soon makes the receiver answer with 503, too. */
const PATIENCE_MS = 1000;

/** Checks whether the store can commit. Callers of the same moment share one commit, since each check costs one. */
export class Probe {
  #underWay: Promise<void> | undefined;

  /**
   * Whether the store commits within a second.
   * @throws KitError STORE_UNAVAILABLE if it cannot
   */
  commits(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    this.#underWay ??= store.ping().finally(() => {
      this.#underWay = undefined;
    });
    return Promise.race([
      this.#underWay.then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, PATIENCE_MS, false).unref()),
    ]);
  }

  /** The same without the reason, which the log has at each notification. */
  canRecord(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    return this.commits(store).catch(() => false);
  }
}
