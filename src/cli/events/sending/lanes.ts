type Task = () => Promise<void>;

export interface LaneOptions {
  /** tasks at once */
  readonly concurrency: number;
  /** tasks that may wait for their turn */
  readonly backlog: number;
}

/**
 * Runs several tasks at once, but those of one lane one after the other, in the order in which they were added. Takes no
 * more than so many in advance, so that a long row of tasks is never in memory as a whole.
 */
export class Lanes {
  readonly #options: LaneOptions;
  /** what waits in each lane that has a task running or ready */
  readonly #waiting = new Map<string, Task[]>();
  readonly #ready: string[] = [];
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
    this.#tasks++;
    if (waiting) waiting.push(task);
    else {
      this.#waiting.set(lane, [task]);
      this.#ready.push(lane);
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
      const lane = this.#ready.shift();
      const task = lane === undefined ? undefined : this.#waiting.get(lane)?.shift();
      if (lane === undefined || !task) return;
      this.#running++;
      void this.#run(lane, task);
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
    const left = this.#waiting.get(lane);
    if (left && left.length > 0) this.#ready.push(lane);
    else this.#waiting.delete(lane);
    this.#fill();
    this.#changed();
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
