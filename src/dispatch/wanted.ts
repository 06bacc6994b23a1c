/** The share of the newest in claims that cannot take all. */
const NEWEST = 1 / 4;
/** So many names for each handler are kept at most; beyond that, a poll finds what is ready. */
const MOST_NAMES = 4;

/** What a claim asks for. */
interface Asked {
  readonly names: readonly string[];
  readonly oldest: number;
  readonly newest: number;
}

/**
 * What the next claims are to take. Without a backlog these are resources by name, and nothing is polled. Where more is ready than there are
 * handlers, a quarter goes to what came last, and the rest to what has waited longest.
 */
export class Wanted {
  readonly #most: number;
  /** resources of events that this process has just recorded: they gather, so that claims are few and share the database with acks */
  readonly #coming = new Set<string>();
  /** those that have gathered */
  readonly #came = new Set<string>();
  /** resources that have more, woke up or were recovered */
  readonly #more = new Set<string>();
  /** whether something may be ready that has no name here */
  #hasBacklog = true;
  /** the part of a claim that is still due to the newest */
  #due = 0;

  /** @param concurrency handlers at once */
  constructor(concurrency: number) {
    this.#most = MOST_NAMES * concurrency;
  }

  came(resource: string): void {
    this.#coming.add(resource);
    this.#limit();
  }

  /** What came until now is to be claimed. */
  gathered(): void {
    for (const resource of this.#coming) this.#came.add(resource);
    this.#coming.clear();
  }

  more(resources: readonly string[]): void {
    for (const resource of resources) this.#more.add(resource);
    this.#limit();
  }

  /** Something may be ready, whatever it is. */
  backlog(): void {
    this.#hasBacklog = true;
  }

  #limit(): void {
    if (this.#coming.size + this.#came.size + this.#more.size <= this.#most) return;
    this.#coming.clear();
    this.#came.clear();
    this.#more.clear();
    this.#hasBacklog = true;
  }

  /**
   * Takes out what a claim is to ask for; undefined if there is nothing.
   * @param running resources that run here: what becomes ready in them meanwhile is claimed when they end
   */
  take(free: number, running: ReadonlySet<string>): Asked | undefined {
    if (free <= 0) return undefined;
    const notRunning = (names: ReadonlySet<string>) => [...names].filter((name) => !running.has(name));
    const came = notRunning(this.#came);
    const all = [...new Set([...notRunning(this.#more), ...came])];
    if (!this.#hasBacklog && all.length === 0) return undefined;
    if (!this.#hasBacklog && all.length <= free) return this.#named(all);
    this.#due += free * NEWEST;
    const newest = Math.floor(this.#due);
    this.#due -= newest;
    // A backlog makes claims large: nothing needs to gather.
    const last = newest > 0 ? [...came, ...notRunning(this.#coming)].slice(-newest) : [];
    if (!this.#hasBacklog) return this.#named([...new Set([...last, ...all])].slice(0, free));
    this.#hasBacklog = false;
    return { ...this.#named(last), oldest: free - newest, newest: newest - last.length };
  }

  #named(names: readonly string[]): Asked {
    this.#forget(names);
    return { names, oldest: 0, newest: 0 };
  }

  /** A claim got lanes. Where a poll found any, there may be more. What comes in these lanes is claimed when they end. */
  got({ names }: Asked, resources: readonly string[]): void {
    if (resources.some((resource) => !names.includes(resource))) this.#hasBacklog = true;
    this.#forget(resources);
  }

  #forget(resources: readonly string[]): void {
    for (const resource of resources) {
      this.#coming.delete(resource);
      this.#came.delete(resource);
      this.#more.delete(resource);
    }
  }
}
