import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { KitError } from '../../base/errors.ts';
import { moduleUrl } from '../../base/program.ts';
import type { Engine, StoreOptions } from '../engine.ts';
import { type Answer, type Connection, connectionOn, type Request } from './batches.ts';
import { compact, IN_MEMORY, type Mode } from './connection.ts';

/** These have hundreds of rows: acks that came together with one are answered before it. */
const ALONE: ReadonlySet<string> = new Set(['reset', 'release', 'prune', 'sweep', 'rekey']);

/** Opens a SQLite database. @throws KitError STORE_UNUSABLE with what to do about it */
export async function openSqlite(path: string, { clock, threads = true }: StoreOptions): Promise<Engine> {
  const isInMemory = path === IN_MEMORY;
  const open = async (mode: Mode) =>
    queueOn(threads && !isInMemory ? await onThread(path, mode) : connectionOn(path, mode));
  const writer = await open('write');
  const reader = isInMemory ? writer : await open('read');
  return {
    write: (name, input) => writer.request(name, { ...(input as object), now: clock.now() }) as never,
    read: (name, input) => reader.request(name, input as object) as never,
    async compact() {
      if (!isInMemory) compact(path);
    },
    async close() {
      // The last one to close moves the log into the file, which one that only reads cannot.
      if (reader !== writer) await reader.close();
      await writer.close();
    },
  };
}

interface Waiting {
  readonly request: Request;
  readonly done: PromiseWithResolvers<unknown>;
}

/** Has a connection do what gathers while a batch is under way, one batch after the other. */
function queueOn(connection: Connection) {
  let waiting: Waiting[] = [];
  let working: Promise<void> | undefined;
  let isClosed = false;
  const run = async (batch: readonly Waiting[]) => {
    if (batch.length === 0) return;
    const answers = await connection.run(batch.map(({ request }) => request));
    for (const [index, { done }] of batch.entries()) {
      const { output, error } = answers[index] ?? {};
      if (!error) done.resolve(output);
      else done.reject(error.isUnavailable ? unavailable(error.message) : new Error(error.message));
    }
  };
  const work = async () => {
    while (waiting.length > 0 && !isClosed) {
      await setImmediate(); // what comes in one turn of the event loop goes together
      const shared = waiting.filter(({ request }) => !ALONE.has(request.name));
      const alone = waiting.filter(({ request }) => ALONE.has(request.name));
      waiting = alone.slice(1);
      await run(shared);
      await run(alone.slice(0, 1));
    }
    working = undefined;
  };
  return {
    request(name: string, input: object): Promise<unknown> {
      if (isClosed) return Promise.reject(unavailable('it is closed'));
      const done = Promise.withResolvers<unknown>();
      waiting.push({ request: { name, input }, done });
      working ??= work();
      return done.promise;
    },
    /** Ends with the batch under way. What waits behind it would wait as long for a lock, and is refused. */
    async close(): Promise<void> {
      isClosed = true;
      await working;
      for (const { done } of waiting) done.reject(unavailable('it is being closed'));
      await connection.close();
    },
  };
}

function unavailable(message: string): KitError {
  return new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${message}`);
}

/** A connection on a thread of its own. */
async function onThread(path: string, mode: Mode): Promise<Connection> {
  const url = moduleUrl(new URL('./thread.ts', import.meta.url));
  const thread = new Worker(url, { workerData: { path, mode } });
  const [first] = (await once(thread, 'message')) as [unknown];
  if (first !== 'open') throw new KitError('STORE_UNUSABLE', (first as { readonly failed: string }).failed);
  let answered = (_: readonly Answer[]) => {};
  // Under `node --watch`, threads also tell of the files that they load.
  thread.on('message', (answers: unknown) => {
    if (Array.isArray(answers)) answered(answers);
  });
  return {
    run: (batch) =>
      new Promise((resolve) => {
        answered = resolve;
        thread.postMessage(batch);
      }),
    async close() {
      const ended = once(thread, 'exit');
      thread.postMessage('close');
      await ended;
    },
  };
}
