import type { Clock } from '../../base/clock.ts';
import { repeat } from '../../base/repeat.ts';
import type { EventStore, Tally } from '../../store/event-store.ts';
import type { Feed } from './feed.ts';

/** How soon listeners hear of what other processes did. */
const EVERY_MS = 1000;

interface ElsewhereOptions {
  readonly feed: Feed;
  readonly store: Pick<EventStore, 'overview'>;
  readonly clock: Clock;
}

/**
 * Tells a feed of what other processes change in the same database: how many events, by the counts of the store, and not which. It looks
 * only while somebody listens.
 */
export class Elsewhere {
  readonly #options: ElsewhereOptions;
  #followers = 0;
  #end = () => {};
  #counts: ReadonlyMap<string, number> | undefined;
  /** how many changes of this process the counts do not show yet; they lag behind by a moment */
  #ahead = 0;

  constructor(options: ElsewhereOptions) {
    this.#options = options;
  }

  /** @returns a function that ends it, to be called once */
  follow(): () => void {
    if (++this.#followers === 1) {
      this.#counts = undefined;
      this.#end = repeat(this.#options.clock, 0, () => this.#look());
    }
    return () => {
      if (--this.#followers === 0) this.#end();
    };
  }

  async #look(): Promise<number> {
    const { feed, store } = this.#options;
    const overview = await store.overview().catch(() => undefined); // pages say themselves that the store cannot be reached
    if (!overview) return EVERY_MS;
    const before = this.#counts;
    this.#counts = countsOf(overview.tallies);
    const told = feed.takeTold();
    const own = told + this.#ahead;
    const all = before ? changesBetween(before, this.#counts) : own;
    this.#ahead = Math.min(told, Math.max(0, own - all)); // a repeat, or an attempt that failed, changes no count
    feed.changedElsewhere(Math.max(0, all - own));
    return EVERY_MS;
  }
}

function countsOf(tallies: readonly Tally[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, status, events } of tallies) {
    // A start is told to nobody.
    const key = `${status === 'running' ? 'pending' : status} ${kind}`;
    counts.set(key, (counts.get(key) ?? 0) + events);
  }
  return counts;
}

/** How many events came or changed their status, at least. */
function changesBetween(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  let [more, fewer] = [0, 0];
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const by = (after.get(key) ?? 0) - (before.get(key) ?? 0);
    if (by > 0) more += by;
    else fewer -= by;
  }
  return Math.max(more, fewer);
}
