import { statSync } from 'node:fs';
import type { InputOf, Operations, OutputOf, StoreLink } from '../link.ts';
import { unavailable } from '../refusals.ts';
import { LOG_BYTES, LONGEST_LOG } from './open-sqlite.ts';

interface Log {
  /** the file of the log */
  readonly path: string;
  /** Moves the log into the database, so that it begins anew; false if that cannot be done now. */
  reset(): Promise<boolean>;
}

/**
 * The way of queries to their connection, one at a time. SQLite can begin the log anew only in a moment in which nobody
 * reads from it. With queries one right after the other, that moment never comes, and the log grows. So where the log is too
 * long, the next query waits here until the log is reset.
 */
export class ReadGate<O extends Operations> implements StoreLink<O> {
  readonly #link: StoreLink<O>;
  readonly #log: Log;
  readonly #waiting: (() => void)[] = [];
  /** a query, or a reset of the log */
  #isWorking = false;
  /** the length of the log at which queries wait, in bytes */
  #bound = LONGEST_LOG;
  #length = 0;
  #isClosed = false;
  #idle = () => {};

  constructor(link: StoreLink<O>, log: Log) {
    this.#link = link;
    this.#log = log;
  }

  async request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    if (this.#isClosed) throw unavailable('the store is closed');
    await new Promise<void>((admit) => {
      this.#waiting.push(admit);
      if (!this.#isWorking) this.#next();
    });
    return this.#link.request(name, input).finally(() => this.#next());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#isWorking) await new Promise<void>((resolve) => (this.#idle = resolve));
    await this.#link.close();
  }

  #next(): void {
    this.#isWorking = this.#waiting.length > 0;
    if (!this.#isWorking) this.#idle();
    else if (this.#isLogTooLong()) void this.#reset();
    else this.#waiting.shift()?.();
  }

  #isLogTooLong(): boolean {
    const before = this.#length;
    this.#length = statSync(this.#log.path, { throwIfNoEntry: false })?.size ?? 0;
    if (this.#length < before) this.#bound = LONGEST_LOG; // it was reset, by whomever
    return this.#length > this.#bound;
  }

  async #reset(): Promise<void> {
    const isReset = await this.#log.reset().catch(() => false);
    // The file gets shorter with the next write. Where a program holds the log, queries do not wait for it again and again.
    this.#bound = isReset ? this.#length : this.#length + LOG_BYTES;
    this.#waiting.shift()?.();
  }
}
