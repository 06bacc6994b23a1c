import { KitError, messageOf } from '../../base/errors.ts';
import { type Db, sqlite } from '../dialect.ts';
import { readsOf } from '../lists/index.ts';
import { operationsOf, RELAXED } from '../operations/index.ts';
import {
  guardFile,
  inTransaction,
  type Mode,
  openReader,
  openWriter,
  setSynchronous,
  statementsOn,
} from './connection.ts';
import { advised } from './file.ts';

/** An operation to be done on a thread. */
export interface Request {
  readonly name: string;
  readonly input: unknown;
}

export interface Connection {
  /**
   * Does requests in one transaction, and returns their outputs. The next ones come after that.
   * @throws KitError STORE_UNAVAILABLE; another error if one of the requests is at fault
   */
  run(requests: readonly Request[]): Promise<readonly unknown[]>;
  close(): void | Promise<void>;
}

type Operate = (db: Db, input: unknown) => unknown;

/** A connection. In memory there is one for reads and writes. */
export function connectionOn(path: string, mode: Mode): Connection {
  const isWriter = mode === 'write';
  const database = isWriter ? openWriter(path) : openReader(path);
  const db = statementsOn(database);
  const check = isWriter ? guardFile(path) : () => {};
  const operations = { ...operationsOf(sqlite), ...readsOf(sqlite) } as unknown as Record<string, Operate>;
  let synchronous = 'FULL';
  return {
    async run(requests) {
      try {
        check();
        // An ack waits for the disk. What a power cut takes of the others, runs again.
        const wanted = requests.every(({ name }) => RELAXED.has(name)) ? 'NORMAL' : 'FULL';
        if (wanted !== synchronous) setSynchronous(database, wanted);
        synchronous = wanted;
        return await inTransaction(database, db, isWriter ? 'BEGIN IMMEDIATE' : 'BEGIN', async () => {
          const outputs: unknown[] = [];
          for (const { name, input } of requests) outputs.push(await operations[name]?.(db, input));
          return outputs;
        });
      } catch (cause) {
        const message = advised(messageOf(cause));
        throw isOfRequest(cause) ? new Error(message) : unavailable(message);
      }
    },
    close: () => void database.close(),
  };
}

export function unavailable(message: string): KitError {
  return new KitError('STORE_UNAVAILABLE', `the store cannot do this now: ${message}`);
}

/** Whether it is the request, and not the database, that something is wrong with. */
function isOfRequest(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const isError = error instanceof TypeError || error instanceof RangeError;
  return isError || /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(code);
}
