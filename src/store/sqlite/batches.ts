import { messageOf } from '../../base/errors.ts';
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

export interface Answer {
  readonly output?: unknown;
  /** why nothing of it was done */
  readonly error?: { readonly message: string; readonly isUnavailable: boolean } | undefined;
}

export interface Connection {
  /** Does requests, which share a commit if all succeed. The next batch comes after this one. @returns an answer to each, in their order */
  run(batch: readonly Request[]): Promise<readonly Answer[]>;
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

  const together = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    check();
    // An ack waits for the disk. What a power cut takes of the others, runs again.
    const wanted = batch.every(({ name }) => RELAXED.has(name)) ? 'NORMAL' : 'FULL';
    if (wanted !== synchronous) setSynchronous(database, wanted);
    synchronous = wanted;
    return inTransaction(database, db, isWriter ? 'BEGIN IMMEDIATE' : 'BEGIN', async () => {
      const answers: Answer[] = [];
      for (const { name, input } of batch) answers.push({ output: await operations[name]?.(db, input) });
      return answers;
    });
  };

  const run = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    try {
      return await together(batch);
    } catch (cause) {
      const error = { message: advised(messageOf(cause)), isUnavailable: isUnavailable(cause) };
      if (batch.length === 1 || error.isUnavailable) return batch.map(() => ({ error }));
      const answers: Answer[] = [];
      for (const one of batch) answers.push(...(await run([one])));
      return answers;
    }
  };
  return { run, close: () => void database.close() };
}

/** Whether it is the database, and not the request, that something is wrong with. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return !/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(code);
}
