import { on, once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import type { InputOf, Operations, OutputOf, StoreLink } from '../link.ts';
import { unavailable, unstorableInput } from '../refusals.ts';
import { contentOf, type FromThread, type Opened, type Replies, type ToThread, tagged } from './protocol.ts';
import { RequestQueue, type StoreRequest } from './request-queue.ts';
import { StayingAwake } from './staying-awake.ts';
import { answerAll, unstorableOutput } from './store-link.ts';

/**
 * The link to one store thread. Requests of one turn of the event loop, or made while the thread works on a batch, share
 * the next commit. Acks go first: as long as some wait, the other requests come in small portions between them.
 */
export class ThreadLink<O extends Operations> implements StoreLink<O> {
  readonly #worker: Worker;
  readonly #onBatch: ((ms: number) => void) | undefined;
  readonly #waiting = new RequestQueue();
  readonly #awake = new StayingAwake(systemClock);
  /** requests that could not be posted together: each goes alone, so that only those fail that no thread can take */
  readonly #apart: StoreRequest[] = [];
  #underWay: StoreRequest[] | undefined;
  /** the replies so far that the thread gives again, one by one; undefined while they come together */
  #again: Replies[number][] | undefined;
  #isSendingSoon = false;
  /** whether a batch was posted on the replies to the one before in this turn of the event loop */
  #isSentOnReplies = false;
  #sentAt = 0;
  #failure: Error | undefined;
  #idle = () => {};
  #closed: Promise<void> | undefined;

  private constructor(worker: Worker, onBatch?: (ms: number) => void) {
    this.#worker = worker;
    this.#onBatch = onBatch;
    worker.on('message', (message: unknown) => {
      const content = contentOf<FromThread>(message);
      if (content === 'unreadable') this.#onUnreadBatch();
      else if (content) this.#onReplies(content);
    });
    worker.on('messageerror', (cause) => this.#onUnreadableReplies(cause));
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
   * @param worker a thread that was just started, and serves batches once it has opened its database
   * @param onBatch told how long each batch took, from posting it to its replies
   * @throws Error with the message of the thread if it cannot open it
   */
  static async over<O extends Operations>(
    worker: Worker,
    onBatch?: (ms: number) => void,
  ): Promise<ThreadLink<O>> {
    const opened = await openedBy(worker);
    if (opened.opened) return new ThreadLink<O>(worker, onBatch);
    await worker.terminate();
    throw new Error(opened.message);
  }

  /** How many requests have no reply yet. */
  get pending(): number {
    return this.#apart.length + this.#waiting.length + (this.#underWay?.length ?? 0);
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
    this.#worker.postMessage(tagged<ToThread>('close'));
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

  /**
   * The thread works on the next batch while these replies are passed on. Once in a turn of the event loop: Node goes on to the next message
   * of a port without one, and a thread that is the quicker one would keep everything else waiting for as long as requests come.
   */
  #sendOnReplies(): void {
    if (this.#isSentOnReplies) {
      this.#sendSoon();
      return;
    }
    this.#isSentOnReplies = true;
    setImmediate(() => {
      this.#isSentOnReplies = false;
    });
    this.#send();
  }

  #send(): void {
    if (this.#underWay || this.#failure) return;
    while (!this.#underWay && this.pending > 0) this.#post(this.#next());
    if (this.pending === 0) this.#idle();
  }

  #next(): StoreRequest[] {
    const alone = this.#apart.shift();
    return alone ? [alone] : this.#waiting.next();
  }

  #post(requests: StoreRequest[]): void {
    try {
      this.#worker.postMessage(tagged<ToThread>(requests.map(({ name, input }) => ({ name, input }))));
      this.#underWay = requests;
      this.#sentAt = systemClock.monotonic();
      this.#awake.awaits(requests);
    } catch (cause) {
      this.#separate(requests, cause);
    }
  }

  /** Some input cannot be passed to a thread, such as a function. Alone, only its own request fails. */
  #separate(requests: readonly StoreRequest[], cause: unknown): void {
    const [first] = requests;
    if (first && requests.length === 1) first.reject(unstorableInput(first.name, cause));
    else this.#apart.push(...requests);
  }

  #onUnreadBatch(): void {
    const requests = this.#underWay ?? [];
    this.#underWay = undefined;
    this.#separate(requests, new Error('the store thread could not read it'));
    this.#send();
  }

  #onReplies(replies: Replies): void {
    const all = [...(this.#again ?? []), ...replies];
    this.#again = this.#again && all.length < (this.#underWay?.length ?? 0) ? all : undefined;
    if (!this.#again) this.#receive(all);
  }

  /** Node could not make values of a message again. Of several replies, the thread posts each again, alone. */
  #onUnreadableReplies(cause: Error): void {
    if (!this.#underWay) return;
    if (this.#again || this.#underWay.length === 1) {
      this.#onReplies([unstorableOutput(cause)]);
    } else {
      this.#again = [];
      this.#worker.postMessage(tagged<ToThread>('singly'));
    }
  }

  #receive(replies: Replies): void {
    const requests = this.#underWay ?? [];
    this.#underWay = undefined;
    this.#awake.came();
    this.#onBatch?.(systemClock.monotonic() - this.#sentAt);
    // A lock refuses the waiting requests too: tried batch after batch, the last would wait for minutes.
    const isLocked = replies.some((reply) => 'error' in reply && reply.error.code?.startsWith('SQLITE_BUSY'));
    const refused = isLocked ? this.#clear() : [];
    if (this.pending > 0) this.#sendOnReplies();
    answerAll(requests, replies);
    for (const request of refused) request.reject(unavailable('the database is locked'));
    if (this.pending === 0) this.#idle();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const request of [...(this.#underWay ?? []), ...this.#clear()]) {
      request.reject(unavailable(this.#failure.message));
    }
    this.#underWay = undefined;
    this.#idle();
  }

  /** Takes out the requests that were not posted. */
  #clear(): StoreRequest[] {
    return [...this.#apart.splice(0), ...this.#waiting.clear()];
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
