import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { moduleUrl } from '../../base/program.ts';
import { type Engine, gathered, type StoreOptions, unavailable, unusable } from '../engine.ts';
import { keyPathOf } from '../secrets/vault.ts';
import { sizeOf } from './check.ts';
import { type Connection, compact, connectionOn, type Mode, type Request, type Said } from './connection.ts';
import { IN_MEMORY, pathOf, refuseMissing } from './file.ts';

export { check } from './check.ts';
export { openRaw } from './connection.ts';

/** Opens a SQLite database. @throws KitError STORE_UNUSABLE with what to do about it */
export async function openEngine(options: StoreOptions): Promise<Engine> {
  const { DATABASE_URL, SECRETS_KEY, clock, threads = true, readOnly, mustBe } = options;
  const path = pathOf(DATABASE_URL);
  if (mustBe === 'there') refuseMissing(path);
  const isInMemory = path === IN_MEMORY;
  const open = async (mode: Mode) =>
    queueOn(threads && !isInMemory ? await onThread(path, mode) : connectionOn(path, mode, mustBe));
  const writer = await open(readOnly ? 'read' : 'write');
  const reader = isInMemory || readOnly ? writer : await open('read');
  return {
    keySource: SECRETS_KEY ?? (isInMemory ? Buffer.alloc(32) : keyPathOf(path)),
    write: (name, input) => writer.request(name, { ...input, now: clock.now() }),
    read: (name, input) => reader.request(name, { ...input, now: clock.now() }),
    busy: writer.busy,
    size: async () => (isInMemory ? { bytes: 0 } : sizeOf(path, SECRETS_KEY)),
    compact: () => compact(path),
    async close() {
      // The last one to close moves the log into the file, which one that only reads cannot.
      if (reader !== writer) await reader.close();
      await writer.close();
    },
  };
}

/** Requests that come while a transaction is under way go into the next one together. */
function queueOn(connection: Connection) {
  let isClosed = false;
  let running: Promise<Said> = Promise.resolve({});
  const run = async (requests: readonly Request[]) => {
    if (isClosed) throw unavailable('it is closed');
    running = connection.run(requests);
    const { outputs = [], failed, isUnavailable } = await running;
    if (failed === undefined) return outputs;
    throw isUnavailable ? unavailable(failed) : new Error(failed);
  };
  // Requests of one turn of the event loop go together.
  const request = gathered(run, () => setImmediate());
  return {
    busy: connection.busy ?? (() => 0),
    request: (name: string, input: object) => request({ name, input }),
    /** Ends once the transaction under way has ended. Requests behind it are refused, as each might wait as long for a lock. */
    async close(): Promise<void> {
      isClosed = true;
      await running;
      await connection.close();
    },
  };
}

/** A connection on a thread of its own. */
async function onThread(path: string, mode: Mode): Promise<Connection> {
  const thread = new Worker(moduleUrl(new URL('./thread.ts', import.meta.url)), {
    workerData: { path, mode },
    execArgv: [], // what the process imports, as an SDK that traces, would take its memory once more
  });
  let answer = Promise.withResolvers<Said>();
  thread.on('message', (said: Said) => answer.resolve(said));
  const { failed: why } = await answer.promise;
  if (why !== undefined) throw unusable(why);
  const { eventLoopUtilization: load } = thread.performance;
  let before = load();
  return {
    busy() {
      const { utilization } = load(before);
      before = load();
      return utilization || 0; // not a number where no time has gone by
    },
    run(requests) {
      answer = Promise.withResolvers();
      thread.postMessage(requests);
      return answer.promise;
    },
    close: () => thread.terminate(), // which closes its database
  };
}
