type Task = () => Promise<void>;

/** A task and its place in the order in which tasks were added. */
interface Placed {
  readonly place: number;
  readonly task: Task;
}

export interface LaneOptions {
  /** tasks at once */
  readonly concurrency: number;
  /** tasks that may wait for their turn */
  readonly backlog: number;
}

/**
 * Runs several tasks at once, but those of one lane one after the other. Of those whose lane is free, the one that was
 * added first begins first: one at a time, tasks run in the very order in which they were added. Takes no more than so
 * many in advance, so that a long row of tasks is never in memory as a whole.
 */
export class Lanes {
  readonly #options: LaneOptions;
  /** what waits in each lane that has a task running or ready */
  readonly #waiting = new Map<string, Placed[]>();
  /** the lanes of which the first task may begin, in the order of these tasks */
  readonly #ready: { readonly lane: string; readonly place: number }[] = [];
  #added = 0;
  #tasks = 0;
  #running = 0;
  #failure: { readonly error: unknown } | undefined;
  #changed = () => {};

  constructor(options: LaneOptions) {
    this.#options = options;
  }

  /** Resolves when there is room for another task. */
  async add(lane: string, task: Task): Promise<void> {
    const waiting = this.#waiting.get(lane);
    const place = this.#added++;
    this.#tasks++;
    if (waiting) waiting.push({ place, task });
    else {
      this.#waiting.set(lane, [{ place, task }]);
      this.#ready.push({ lane, place });
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

  /** Forgets the tasks that have not begun. */
  drop(): void {
    this.#waiting.clear();
    this.#ready.length = 0;
    this.#tasks = this.#running;
  }

  #fill(): void {
    while (this.#running < this.#options.concurrency) {
      const first = this.#ready.shift();
      const next = first && this.#waiting.get(first.lane)?.shift();
      if (!next) return;
      this.#running++;
      void this.#run(first.lane, next.task);
    }
  }

  async #run(lane: string, task: Task): Promise<void> {
    try {
      await task();
    } catch (error) {
      this.#failure ??= { error };
    }
    this.#running--;
    this.#tasks--;
    const next = this.#waiting.get(lane)?.at(0);
    if (next) this.#makeReady(lane, next.place);
    else this.#waiting.delete(lane);
    this.#fill();
    this.#changed();
  }

  #makeReady(lane: string, place: number): void {
    const before = this.#ready.findLastIndex((other) => other.place < place);
    this.#ready.splice(before + 1, 0, { lane, place });
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
