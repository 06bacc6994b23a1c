import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { moduleUrl } from '../../base/program.ts';
import type { Engine } from '../engine.ts';
import { type Answer, queueOn, type Request, readerOn, writerOn } from './batches.ts';
import { IN_MEMORY } from './connection.ts';

/** The way to a connection, on a thread or here. */
interface Link {
  send(requests: readonly Request[]): void;
  close(): Promise<void>;
}

type Take = (answers: readonly Answer[]) => void;

export interface SqliteOptions {
  /** a file, or `:memory:` */
  readonly path: string;
  readonly clock: Clock;
  /** false: works on the calling thread, as commands do, which have nothing else to do */
  readonly threads: boolean;
}

/** Opens a SQLite database. @throws KitError STORE_UNUSABLE with what to do about it */
export async function openSqlite({ path, clock, threads }: SqliteOptions): Promise<Engine> {
  const isThreaded = threads && path !== IN_MEMORY;
  const writer = await connect((take) =>
    isThreaded ? onThread(path, 'write', take) : here(writerOn(path), take),
  );
  const reader =
    path === IN_MEMORY
      ? writer
      : await connect((take) => (isThreaded ? onThread(path, 'read', take) : here(readerOn(path), take)));
  return {
    isRemote: false,
    write: (name, input) => writer.request(name, { ...(input as object), now: clock.now() }) as never,
    read: (name, input) => reader.request(name, input as object) as never,
    async compact() {
      await writer.request('compact', {});
    },
    async close() {
      // The last one to close moves the log into the file, which one that only reads cannot.
      if (reader !== writer) await reader.close();
      await writer.close();
    },
  };
}

/** Numbers requests, and brings answers to those who wait. */
async function connect(open: (take: Take) => Link | Promise<Link>) {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let outbox: Request[] = [];
  let next = 0;
  const link = await open((answers) => {
    for (const { number, output, error } of answers) {
      const one = waiting.get(number);
      waiting.delete(number);
      if (!error) one?.resolve(output);
      else if (error.isUnavailable) one?.reject(unavailable(error.message));
      else one?.reject(new Error(error.message));
    }
  });
  let isClosed = false;
  return {
    request(name: string, input: object): Promise<unknown> {
      if (isClosed) return Promise.reject(unavailable('it is closed'));
      const answer = Promise.withResolvers<unknown>();
      waiting.set(next, answer);
      // What comes in one turn of the event loop crosses together.
      if (outbox.push({ number: next++, name, input }) === 1)
        setImmediate(() => {
          link.send(outbox);
          outbox = [];
        });
      return answer.promise;
    },
    async close(): Promise<void> {
      isClosed = true;
      if (outbox.length > 0) link.send(outbox);
      outbox = [];
      await link.close();
      for (const { reject } of waiting.values()) reject(unavailable('it was closed'));
    },
  };
}

export function unavailable(message: string): KitError {
  return new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${message}`);
}

function here(connection: ReturnType<typeof readerOn>, take: Take): Link {
  const queue = queueOn(connection, take);
  return {
    send: (requests) => queue.add(requests),
    async close() {
      await queue.end();
      connection.close();
    },
  };
}

async function onThread(path: string, mode: 'read' | 'write', take: Take): Promise<Link> {
  const thread = new Worker(moduleUrl(new URL('./thread.ts', import.meta.url)), {
    workerData: { path, mode },
  });
  const [first] = (await once(thread, 'message')) as [unknown];
  if (first !== 'open') throw new KitError('STORE_UNUSABLE', (first as { readonly failed: string }).failed);
  // Under `node --watch`, threads also tell of the files that they load.
  thread.on('message', (answers: unknown) => {
    if (Array.isArray(answers)) take(answers as Answer[]);
  });
  return {
    send: (requests) => thread.postMessage(requests),
    async close() {
      const ended = once(thread, 'exit');
      thread.postMessage('close');
      await ended;
    },
  };
}
