import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../base/clock.ts';
import { repeat } from '../../base/pause.ts';
import type { EventStore } from '../../store/event-store.ts';
import type { Feed } from './feed.ts';

/** How soon listeners hear of what other processes did. */
const EVERY_MS = 1000;

interface ElsewhereOptions {
  readonly feed: Feed;
  readonly store: Pick<EventStore, 'overview' | 'search'>;
  readonly clock: Clock;
}

/**
 * Tells a feed that something changed whenever the store looks different: other processes work with it, too. It looks only while somebody
 * listens.
 */
export class Elsewhere {
  readonly #options: ElsewhereOptions;
  #followers = 0;
  #end = () => {};
  #seen: unknown;

  constructor(options: ElsewhereOptions) {
    this.#options = options;
  }

  /** @returns a function that ends it, to be called once */
  follow(): () => void {
    if (++this.#followers === 1) {
      this.#seen = undefined;
      this.#end = repeat(this.#options.clock, 0, () => this.#look());
    }
    return () => {
      if (--this.#followers === 0) this.#end();
    };
  }

  async #look(): Promise<number> {
    const { feed, store } = this.#options;
    // The newest event shows what came and was handled between two looks.
    const looks = Promise.all([store.overview(), store.search({}, { limit: 1, reach: 1 })]);
    const seen = await looks.catch(() => undefined); // pages say themselves that the store cannot be reached
    if (!seen) return EVERY_MS;
    if (this.#seen !== undefined && !isDeepStrictEqual(seen, this.#seen)) feed.changedSomehow();
    this.#seen = seen;
    return EVERY_MS;
  }
}
