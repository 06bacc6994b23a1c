/** The share of the newest lanes in claims that cannot take all. */
const NEWEST = 1 / 4;
/** How many names are kept for each place of a handler at most; beyond that, a poll finds the ready lanes. */
const MOST_NAMES = 4;

/**
 * What the next claims ask for. Without a backlog they name resources, and poll nothing. If more lanes are ready than places for handlers
 * are free, a quarter of the places goes to the newest lanes, and the rest to those that have waited longest.
 */
export class Wanted {
  readonly #concurrency: number;
  readonly #names = new Set<string>();
  /** whether lanes may be ready that have no name here */
  #hasBacklog = true;
  /** the fraction of a place that is still due to the newest lanes */
  #due = 0;

  /** @param concurrency handlers at once */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** These resources have ready events. */
  add(resources: Iterable<string>): void {
    for (const resource of resources) this.#names.add(resource);
    if (this.#names.size > MOST_NAMES * this.#concurrency) this.backlog();
  }

  /** Any resource may have ready events. */
  backlog(): void {
    this.#hasBacklog = true;
    this.#names.clear();
  }

  /**
   * Takes out what the next claim asks for; undefined if there is nothing.
   * @param free how many places for handlers are free
   * @param running resources whose handlers run here: their events are claimed when those handlers end
   */
  take(free: number, running: ReadonlySet<string>) {
    if (free <= 0) return undefined;
    const names = [...this.#names].filter((name) => !running.has(name));
    if (!this.#hasBacklog && names.length <= free) {
      for (const name of names) this.#names.delete(name);
      return names.length > 0 ? { names, oldest: 0, newest: 0 } : undefined;
    }
    this.#names.clear();
    this.#hasBacklog = false;
    this.#due += free * NEWEST;
    const newest = Math.floor(this.#due);
    this.#due -= newest;
    return { names: [], oldest: free - newest, newest };
  }
}
