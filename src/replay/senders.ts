type Task = () => Promise<void>;

/** A task and its place in the order in which tasks were added. */
interface Placed {
  readonly place: number;
  readonly task: Task;
}

export interface SendersOptions {
  /** how many tasks run at once */
  readonly concurrency: number;
  /** how many tasks may wait for their turn */
  readonly backlog: number;
}

/**
 * Parallel senders: several tasks run at once, but the tasks of one resource run one after the other. Of all tasks whose
 * resource is free, the one that was added first begins first; so a single sender keeps the order in which tasks were
 * added. Only a few tasks are taken in advance, so that a long row of them is never in memory as a whole.
 */
export class Senders {
  readonly #options: SendersOptions;
  /** the waiting tasks of each resource that has a task running or ready */
  readonly #waiting = new Map<string, Placed[]>();
  /** the resources whose first task may begin, in the order of these tasks */
  readonly #ready: { readonly resource: string; readonly place: number }[] = [];
  #added = 0;
  #tasks = 0;
  #running = 0;
  #failure: { readonly error: unknown } | undefined;
  #changed = () => {};

  constructor(options: SendersOptions) {
    this.#options = options;
  }

  /** Resolves when there is room for another task. */
  async add(resource: string, task: Task): Promise<void> {
    const waiting = this.#waiting.get(resource);
    const place = this.#added++;
    this.#tasks++;
    if (waiting) waiting.push({ place, task });
    else {
      this.#waiting.set(resource, [{ place, task }]);
      this.#ready.push({ resource, place });
    }
    this.#fill();
    while (this.#tasks >= this.#options.concurrency + this.#options.backlog) await this.#change();
    this.#check();
  }

  /** Resolves when every task has ended. */
  async idle(): Promise<void> {
    while (this.#running > 0) await this.#change();
    this.#check();
  }

  /** Drops the tasks that have not begun. */
  drop(): void {
    this.#waiting.clear();
    this.#ready.length = 0;
    this.#tasks = this.#running;
  }

  #fill(): void {
    while (this.#running < this.#options.concurrency) {
      const first = this.#ready.shift();
      const next = first && this.#waiting.get(first.resource)?.shift();
      if (!next) return;
      this.#running++;
      void this.#run(first.resource, next.task);
    }
  }

  async #run(resource: string, task: Task): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#running--;
    this.#tasks--;
    const next = this.#waiting.get(resource)?.at(0);
    if (next) this.#makeReady(resource, next.place);
    else this.#waiting.delete(resource);
    this.#fill();
    this.#changed();
  }

  #makeReady(resource: string, place: number): void {
    const before = this.#ready.findLastIndex((other) => other.place < place);
    this.#ready.splice(before + 1, 0, { resource, place });
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }

  #check(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
