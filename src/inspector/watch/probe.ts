import type { EventStore } from '../../store/event-store.ts';

/** A store that takes longer answers notifications with 503 before long, too. */
const PATIENCE_MS = 1000;

/** Finds out whether the store can commit, with one commit for all who ask at a time. */
export class Probe {
  #underWay: Promise<boolean> | undefined;

  canRecord(store: Pick<EventStore, 'ping'>): Promise<boolean> {
    this.#underWay ??= store
      .ping()
      .then(
        () => true,
        () => false, // why, the log says at each notification
      )
      .finally(() => {
        this.#underWay = undefined;
      });
    return Promise.race([
      this.#underWay,
      new Promise<boolean>((resolve) => setTimeout(resolve, PATIENCE_MS, false).unref()),
    ]);
  }
}
