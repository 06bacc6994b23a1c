import { on, once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import {
  type Batch,
  contentOf,
  type InputOf,
  type Opened,
  type Operations,
  type OutputOf,
  type Replies,
  tagged,
} from './protocol.ts';
import { RequestQueue, type StoreRequest } from './request-queue.ts';
import { type StoreLink, unavailable, unopened } from './store-link.ts';

/**
 * The link to one store thread. Requests of one turn of the event loop, or made while the thread works on a batch, share
 * the next commit. Acks go first: as long as some wait, the other requests come in small portions between them.
 */
export class ThreadLink<O extends Operations> implements StoreLink<O> {
  readonly #worker: Worker;
  readonly #onBatch: ((ms: number) => void) | undefined;
  readonly #waiting = new RequestQueue();
  #underWay: StoreRequest[] | undefined;
  #isSendingSoon = false;
  #sentAt = 0;
  #failure: Error | undefined;
  #idle = () => {};
  #closed: Promise<void> | undefined;

  private constructor(worker: Worker, onBatch?: (ms: number) => void) {
    this.#worker = worker;
    this.#onBatch = onBatch;
    worker.on('message', (message: unknown) => {
      const replies = contentOf<Replies>(message);
      if (replies) this.#receive(replies);
    });
    worker.on('error', (error) => {
      this.#fail(error);
      // Without its thread the store is gone for good: the process ends, and its supervisor starts it again.
      setImmediate(() => {
        throw error;
      });
    });
    worker.on('exit', () => this.#fail(new Error('the store is closed')));
  }

  /**
   * @param onBatch told how long each batch took, from posting it to its replies
   * @throws KitError STORE_UNUSABLE if the database cannot be opened
   */
  static async open<O extends Operations>(
    path: string,
    mode: 'read' | 'write',
    onBatch?: (ms: number) => void,
  ): Promise<ThreadLink<O>> {
    const worker = new Worker(new URL('./store-thread.ts', import.meta.url), { workerData: { path, mode } });
    const opened = await openedBy(worker);
    if (opened.opened) return new ThreadLink<O>(worker, onBatch);
    await worker.terminate();
    throw unopened(path, opened.message);
  }

  /** How many requests have no reply yet. */
  get pending(): number {
    return this.#waiting.length + (this.#underWay?.length ?? 0);
  }

  request<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
    return new Promise<unknown>((resolve, reject) => {
      if (this.#failure) return reject(unavailable(this.#failure.message));
      this.#waiting.push({ name, input, resolve, reject });
      this.#sendSoon();
    }) as Promise<OutputOf<O, N>>;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#failure) return;
    if (this.pending > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    const exited = once(this.#worker, 'exit');
    this.#worker.postMessage(tagged('close'));
    await exited;
  }

  #sendSoon(): void {
    if (this.#underWay || this.#isSendingSoon) return;
    this.#isSendingSoon = true;
    setImmediate(() => {
      this.#isSendingSoon = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#underWay || this.#waiting.length === 0 || this.#failure) return;
    const requests = this.#waiting.next();
    try {
      this.#post(requests);
    } catch {
      // Some input cannot be posted to a thread. Only its request fails; the others are posted as copies.
      const copies = requests.flatMap(copied);
      if (copies.length > 0) this.#post(copies);
      else if (this.pending === 0) this.#idle();
      else this.#sendSoon();
    }
  }

  #post(requests: StoreRequest[]): void {
    this.#worker.postMessage(tagged<Batch>(requests.map(({ name, input }) => ({ name, input }))));
    this.#underWay = requests;
    this.#sentAt = systemClock.monotonic();
  }

  #receive(replies: Replies): void {
    const requests = this.#underWay ?? [];
    this.#underWay = undefined;
    this.#onBatch?.(systemClock.monotonic() - this.#sentAt);
    // A lock refuses the waiting requests too: tried batch after batch, the last would wait for minutes.
    const isLocked = replies.some((reply) => 'error' in reply && reply.error.code?.startsWith('SQLITE_BUSY'));
    const refused = isLocked ? this.#waiting.clear() : [];
    this.#send();
    for (const [index, request] of requests.entries()) {
      const reply = replies[index];
      if (reply && 'output' in reply) request.resolve(reply.output);
      else request.reject(unavailable(reply?.error.message ?? 'no reply'));
    }
    for (const request of refused) request.reject(unavailable('the database is locked'));
    if (this.pending === 0) this.#idle();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const request of [...(this.#underWay ?? []), ...this.#waiting.clear()]) {
      request.reject(unavailable(this.#failure.message));
    }
    this.#underWay = undefined;
    this.#idle();
  }
}

/** A request with a copy of its input. If the input cannot be copied, the request is rejected and left out. */
function copied(request: StoreRequest): StoreRequest[] {
  try {
    return [{ ...request, input: structuredClone(request.input) }];
  } catch (cause) {
    const problem = `${request.name} got a value that the store cannot take: ${messageOf(cause)}`;
    request.reject(new TypeError(problem, { cause }));
    return [];
  }
}

/** The first message of a thread: whether it could open its database. */
async function openedBy(worker: Worker): Promise<Opened> {
  for await (const [message] of on(worker, 'message', { close: ['exit'] })) {
    const opened = contentOf<Opened>(message);
    if (opened) return opened;
  }
  return { opened: false, message: 'its thread ended' };
}
