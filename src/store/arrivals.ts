import type { Clock } from '../base/clock.ts';
import type { Recorded } from './event-store.ts';
import { TakingSoon } from './taking-soon.ts';
import { Watch } from './watch.ts';

/** What arrivals ask of a database. */
export interface ArrivalsDatabase {
  /** The last place that readers of the ledger may go to: what comes later is behind it. */
  settledPlace(): Promise<number>;
  /** Takes what is new in the ledger into work. @returns whether that is all of it */
  take(): Promise<boolean>;
}

/** What follows when something is recorded: it is taken into work soon, and who watches is told. */
export class Arrivals {
  readonly #watch: Watch;
  readonly #takingSoon: TakingSoon;

  constructor(clock: Clock, database: ArrivalsDatabase) {
    this.#watch = new Watch(clock, () => database.settledPlace());
    this.#takingSoon = new TakingSoon(clock, () => database.take());
  }

  /** Passes on what came of a recording that is under way. */
  async of<R extends Recorded | undefined>(recording: Promise<R>): Promise<R> {
    this.#takingSoon.recorded();
    const recorded = await recording;
    if (recorded?.status === 'accepted') this.#watch.tell();
    return recorded;
  }

  /** @returns a function that ends the listening */
  watch(listener: () => void): () => void {
    return this.#watch.listen(listener);
  }

  /** When this process recorded the first that may not be in work yet, or a little before; undefined if all of it is. */
  get behindSince(): number | undefined {
    return this.#takingSoon.behindSince;
  }

  stop(): void {
    this.#watch.stop();
    this.#takingSoon.stop();
  }
}
