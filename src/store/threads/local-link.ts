import { systemClock } from '../../base/clock.ts';
import type { InputOf, Operations, OutputOf, StoreLink } from '../link.ts';
import { copyOf, unavailable } from '../refusals.ts';
import type { Connection } from './protocol.ts';
import { RequestQueue } from './request-queue.ts';
import { answerAll, copyOfReply } from './store-link.ts';

/**
 * Does the work of a store thread on the calling thread: for commands, which have nothing else to do meanwhile or are to start
 * soon, and which start in half the time and memory without threads. Requests of one turn of the event loop share a commit.
 */
export class LocalLink<O extends Operations> implements StoreLink<O> {
  readonly #connection: Connection;
  readonly #onBatch: ((ms: number) => void) | undefined;
  readonly #waiting = new RequestQueue();
  #isRunning = false;
  #idle = () => {};
  #closed: Promise<void> | undefined;

  /** @param onBatch told how long each batch took */
  constructor(connection: Connection, onBatch?: (ms: number) => void) {
    this.#connection = connection;
    this.#onBatch = onBatch;
  }

  request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#closed) return reject(unavailable('the store is closed'));
      const copy = copyOf(name, input);
      this.#waiting.push({ name, input: copy, resolve, reject });
      if (!this.#isRunning) this.#runSoon();
    }) as Promise<OutputOf<O, N>>;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#isRunning) await new Promise<void>((resolve) => (this.#idle = resolve));
    this.#connection.close();
  }

  /** Signals and timers come through between long series of requests. */
  #runSoon(): void {
    this.#isRunning = true;
    setImmediate(() => this.#run());
  }

  async #run(): Promise<void> {
    const requests = this.#waiting.next();
    const began = systemClock.monotonic();
    const replies = await this.#connection.run(requests.map(({ name, input }) => ({ name, input })));
    this.#onBatch?.(systemClock.monotonic() - began);
    this.#isRunning = false;
    if (this.#waiting.length > 0) this.#runSoon();
    answerAll(requests, replies.map(copyOfReply));
    if (!this.#isRunning) this.#idle();
  }
}
