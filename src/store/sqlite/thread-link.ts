import { on, once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { advised } from './advice.ts';
import {
  type Answers,
  type Batch,
  contentOf,
  type InputOf,
  type Opened,
  type Operations,
  type OutputOf,
  tagged,
} from './protocol.ts';
import { type Call, CallQueue } from './request-queue.ts';

/** The way to a connection that does an operation when it is called. */
export interface Calls<O extends Operations> {
  call<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>>;
  /** Waits for the calls under way, then closes the database. */
  close(): Promise<void>;
}

/**
 * The way to one store thread. Whatever is called in one turn of the event loop, or while the thread works on a batch,
 * shares the next commit. Acks go first: as long as some wait, the rest comes in small portions between them.
 */
export class Channel<O extends Operations> implements Calls<O> {
  readonly #worker: Worker;
  readonly #onBatch: ((ms: number) => void) | undefined;
  readonly #waiting = new CallQueue();
  #underWay: Call[] | undefined;
  #isSendingSoon = false;
  #sentAt = 0;
  #failure: Error | undefined;
  #idle = () => {};
  #closed: Promise<void> | undefined;

  private constructor(worker: Worker, onBatch?: (ms: number) => void) {
    this.#worker = worker;
    this.#onBatch = onBatch;
    worker.on('message', (message: unknown) => {
      const answers = contentOf<Answers>(message);
      if (answers) this.#receive(answers);
    });
    worker.on('error', (error) => {
      this.#fail(error);
      // Without its thread the store is gone for good: the process ends, and is started anew by what supervises it.
      setImmediate(() => {
        throw error;
      });
    });
    worker.on('exit', () => this.#fail(new Error('the store is closed')));
  }

  /**
   * @param onBatch told how long each batch took, from handing it over to its answer
   * @throws KitError STORE_UNUSABLE if the database cannot be opened
   */
  static async open<O extends Operations>(
    path: string,
    mode: 'read' | 'write',
    onBatch?: (ms: number) => void,
  ): Promise<Channel<O>> {
    const worker = new Worker(new URL('./store-thread.ts', import.meta.url), { workerData: { path, mode } });
    const opened = await openedBy(worker);
    if (opened.opened) return new Channel<O>(worker, onBatch);
    await worker.terminate();
    throw unopened(path, opened.message);
  }

  /** Calls that have no answer yet. */
  get pending(): number {
    return this.#waiting.length + (this.#underWay?.length ?? 0);
  }

  call<N extends keyof O & string>(name: N, input: InputOf<O, N>): Promise<OutputOf<O, N>> {
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
    const calls = this.#waiting.next();
    try {
      this.#post(calls);
    } catch {
      // Something in one of them cannot go to a thread: it fails that call alone, and the others go as copies.
      const copies = calls.flatMap(copied);
      if (copies.length > 0) this.#post(copies);
      else if (this.pending === 0) this.#idle();
      else this.#sendSoon();
    }
  }

  #post(calls: Call[]): void {
    this.#worker.postMessage(tagged<Batch>(calls.map(({ name, input }) => ({ name, input }))));
    this.#underWay = calls;
    this.#sentAt = systemClock.monotonic();
  }

  #receive(answers: Answers): void {
    const calls = this.#underWay ?? [];
    this.#underWay = undefined;
    this.#onBatch?.(systemClock.monotonic() - this.#sentAt);
    // Whatever waited behind a lock is refused with it: batch after batch, the last would wait for minutes.
    const isLocked = answers.some(
      (answer) => 'error' in answer && answer.error.code?.startsWith('SQLITE_BUSY'),
    );
    const refused = isLocked ? this.#waiting.clear() : [];
    this.#send();
    for (const [index, call] of calls.entries()) {
      const answer = answers[index];
      if (answer && 'output' in answer) call.resolve(answer.output);
      else call.reject(unavailable(answer?.error.message ?? 'no answer'));
    }
    for (const call of refused) call.reject(unavailable('the database is locked'));
    if (this.pending === 0) this.#idle();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const call of [...(this.#underWay ?? []), ...this.#waiting.clear()]) {
      call.reject(unavailable(this.#failure.message));
    }
    this.#underWay = undefined;
    this.#idle();
  }
}

/** A call with a copy of its input; nothing where that cannot be copied, and then the call is over. */
function copied(call: Call): Call[] {
  try {
    return [{ ...call, input: structuredClone(call.input) }];
  } catch (cause) {
    const problem = `${call.name} was given what the store cannot take: ${messageOf(cause)}`;
    call.reject(new TypeError(problem, { cause }));
    return [];
  }
}

/** What a thread says first: whether it could open its database. */
async function openedBy(worker: Worker): Promise<Opened> {
  for await (const [message] of on(worker, 'message', { close: ['exit'] })) {
    const opened = contentOf<Opened>(message);
    if (opened) return opened;
  }
  return { opened: false, message: 'its thread ended' };
}

export function unopened(path: string, message: string): KitError {
  return new KitError('STORE_UNUSABLE', `cannot open the database ${path}: ${advised(message)}`);
}

export function unavailable(message: string): KitError {
  return new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${message}`);
}
