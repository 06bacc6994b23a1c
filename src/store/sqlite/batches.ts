import type Database from 'better-sqlite3';
import { messageOf } from '../../base/errors.ts';
import { type Db, sqlite } from '../dialect.ts';
import { readsOf } from '../lists/index.ts';
import { operationsOf, RELAXED } from '../operations/index.ts';
import {
  guardFile,
  IN_MEMORY,
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
  /** Does requests. The next batch comes after this one. @returns an answer to each, in their order */
  run(batch: readonly Request[]): Promise<readonly Answer[]>;
  close(): void | Promise<void>;
}

const COMPACT = 'compact';
/** These have hundreds of rows: what shares their commit would wait for all of them. */
const ALONE: ReadonlySet<string> = new Set(['reset', 'release', 'prune', 'sweep', 'replaceSecrets', COMPACT]);

type Operate = (db: Db, input: unknown) => unknown;

/**
 * A connection. Writes that came together share a commit, else they go one by one; each read has a transaction of its own, in which all
 * statements see the same moment. In memory there is one connection for both.
 */
export function connectionOn(path: string, mode: Mode): Connection {
  const isWriter = mode === 'write';
  const database = isWriter ? openWriter(path) : openReader(path);
  const db = statementsOn(database);
  const check = isWriter ? guardFile(path) : () => {};
  const operations = {
    ...(isWriter ? operationsOf(sqlite) : {}),
    ...(isWriter && path !== IN_MEMORY ? {} : readsOf(sqlite)),
  } as unknown as Readonly<Record<string, Operate>>;
  let synchronous = 'FULL';

  const together = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    check();
    // An ack waits for the disk. What a power cut takes of the others, runs again.
    const wanted = batch.every(({ name }) => RELAXED.has(name)) ? 'NORMAL' : 'FULL';
    if (isWriter && wanted !== synchronous) setSynchronous(database, wanted);
    synchronous = wanted;
    return inTransaction(database, db, isWriter ? 'BEGIN IMMEDIATE' : 'BEGIN', async () => {
      const answers: Answer[] = [];
      for (const { name, input } of batch) answers.push({ output: await operations[name]?.(db, input) });
      return answers;
    });
  };

  const attempt = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    try {
      if (batch[0]?.name === COMPACT) return [compact(database)];
      return batch.length > 0 ? await together(batch) : [];
    } catch (cause) {
      const error = { message: advised(messageOf(cause)), isUnavailable: isUnavailable(cause) };
      if (batch.length === 1 || error.isUnavailable) return batch.map(() => ({ error }));
      return oneByOne(batch);
    }
  };
  const oneByOne = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    const answers: Answer[] = [];
    for (const one of batch) answers.push(...(await attempt([one])));
    return answers;
  };
  const isShared = ({ name }: Request) => isWriter && !ALONE.has(name);

  return {
    async run(batch) {
      const shared = (await attempt(batch.filter(isShared))).values();
      const alone = (await oneByOne(batch.filter((one) => !isShared(one)))).values();
      return batch.map((one) => (isShared(one) ? shared : alone).next().value ?? {});
    },
    close: () => void database.close(),
  };
}

/** Has what was deleted gone from the file. */
function compact(database: Database.Database): Answer {
  database.exec('VACUUM');
  database.pragma('wal_checkpoint(TRUNCATE)');
  return {};
}

/** Whether it is the database, and not the request, that something is wrong with. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof TypeError || error instanceof RangeError) return false;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return !/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(code);
}
