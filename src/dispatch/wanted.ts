/** The share of the newest in claims that cannot take all. */
const NEWEST = 1 / 4;
/** So many names for each handler are kept at most; beyond that, a poll finds what is ready. */
const MOST_NAMES = 4;

/**
 * What the next claims are to take. Without a backlog these are resources by name, and nothing is polled. Where more is ready than there are
 * handlers, a quarter goes to what came last, and the rest to what has waited longest.
 */
export class Wanted {
  readonly #concurrency: number;
  readonly #names = new Set<string>();
  /** whether something may be ready that has no name here */
  #hasBacklog = true;
  /** the part of a claim that is still due to the newest */
  #due = 0;

  /** @param concurrency handlers at once */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Something is ready in these resources. */
  add(resources: Iterable<string>): void {
    for (const resource of resources) this.#names.add(resource);
    if (this.#names.size > MOST_NAMES * this.#concurrency) this.backlog();
  }

  /** Something may be ready, whatever it is. */
  backlog(): void {
    this.#hasBacklog = true;
    this.#names.clear();
  }

  /**
   * Takes out what a claim is to ask for; undefined if there is nothing.
   * @param running resources that run here: what becomes ready in them meanwhile is claimed when they end
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
