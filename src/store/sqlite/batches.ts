import { setImmediate } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { type Db, sqlite } from '../dialect.ts';
import { readsOf } from '../lists/index.ts';
import { operationsOf, RELAXED } from '../operations/index.ts';
import { guardFile, IN_MEMORY, openReader, openWriter, setSynchronous, statementsOn } from './connection.ts';
import { advised } from './file.ts';

/** An operation to be done on a thread; the answer has the same number. */
export interface Request {
  readonly number: number;
  readonly name: string;
  readonly input: unknown;
}

export interface Answer {
  readonly number: number;
  readonly output?: unknown;
  /** why nothing of it was done */
  readonly error?: { readonly message: string; readonly isUnavailable: boolean } | undefined;
}

/** Does requests in their order. */
export interface Connection {
  run(batch: readonly Request[]): Promise<readonly Answer[]>;
  close(): void;
}

/** These have hundreds of rows: what shares their commit would wait for all of them. */
const ALONE: ReadonlySet<string> = new Set([
  'reset',
  'release',
  'prune',
  'sweep',
  'replaceSecrets',
  'compact',
]);

type Operate = (db: Db, input: unknown) => unknown;

/** The connection that writes: requests that came together share a commit, else one by one. */
export function writerOn(path: string): Connection {
  const database = openWriter(path);
  const db = statementsOn(database);
  const check = guardFile(path);
  const reads: Record<string, Operate> = path === IN_MEMORY ? (readsOf(sqlite) as never) : {};
  const operations = { ...reads, ...operationsOf(sqlite) } as unknown as Readonly<Record<string, Operate>>;
  let synchronous = 'FULL';

  const inTransaction = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    check();
    // An ack waits for the disk. What a power cut takes of the others, runs again.
    const wanted = batch.every(({ name }) => RELAXED.has(name)) ? 'NORMAL' : 'FULL';
    if (wanted !== synchronous) setSynchronous(database, wanted);
    synchronous = wanted;
    db.all('BEGIN IMMEDIATE');
    try {
      const answers: Answer[] = [];
      for (const { number, name, input } of batch)
        answers.push({ number, output: await operations[name]?.(db, input) });
      db.all('COMMIT');
      return answers;
    } catch (error) {
      if (database.inTransaction) db.all('ROLLBACK');
      throw error;
    }
  };

  const attempt = async (batch: readonly Request[]): Promise<readonly Answer[]> => {
    if (batch.length === 0) return [];
    try {
      return await inTransaction(batch);
    } catch (error) {
      const { length } = batch;
      if (length === 1 || isUnavailable(error)) return batch.map(({ number }) => failed(number, error));
      const answers: Answer[] = [];
      for (const one of batch) answers.push(...(await attempt([one])));
      return answers;
    }
  };

  return {
    async run(batch) {
      const answers = [...(await attempt(batch.filter(({ name }) => !ALONE.has(name))))];
      for (const one of batch.filter(({ name }) => ALONE.has(name)))
        answers.push(...(one.name === 'compact' ? compact(database, one) : await attempt([one])));
      return answers;
    },
    close: () => void database.close(),
  };
}

function compact(database: Database.Database, { number }: Request): readonly Answer[] {
  try {
    database.exec('VACUUM');
    database.pragma('wal_checkpoint(TRUNCATE)');
    return [{ number }];
  } catch (error) {
    return [failed(number, error)];
  }
}

/** A connection for queries. */
export function readerOn(path: string): Connection {
  const database = openReader(path);
  const db = statementsOn(database);
  const reads = readsOf(sqlite) as unknown as Readonly<Record<string, Operate>>;
  return {
    async run(batch) {
      const answers: Answer[] = [];
      for (const { number, name, input } of batch) {
        try {
          db.all('BEGIN'); // all statements of a read see the same moment
          answers.push({ number, output: await reads[name]?.(db, input) });
        } catch (error) {
          answers.push(failed(number, error));
        } finally {
          if (database.inTransaction) db.all('COMMIT');
        }
      }
      return answers;
    },
    close: () => void database.close(),
  };
}

function failed(number: number, error: unknown): Answer {
  const message = error instanceof Error ? error.message : String(error);
  return { number, error: { message: advised(message), isUnavailable: isUnavailable(error) } };
}

/** Whether it is the database, and not the request, that something is wrong with. */
function isUnavailable(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return (
    !/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE|ERROR)/.test(code) &&
    !(error instanceof TypeError || error instanceof RangeError)
  );
}

/** Does what gathers while a batch is under way, one batch after the other. */
export function queueOn(connection: Connection, answer: (answers: readonly Answer[]) => void) {
  let waiting: Request[] = [];
  let working: Promise<void> | undefined;
  let isEnding = false;
  const work = async () => {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      answer(isEnding ? batch.map(refused) : await connection.run(batch));
      await setImmediate(); // more may have come
    }
    working = undefined;
  };
  return {
    add(requests: readonly Request[]): void {
      waiting.push(...requests);
      working ??= work();
    },
    /** Resolves when the batch under way is done. What waits behind it would wait as long for a lock, and is refused. */
    async end(): Promise<void> {
      isEnding = true;
      await working;
    },
  };
}

const refused = ({ number }: Request): Answer => ({
  number,
  error: { message: 'it is being closed', isUnavailable: true },
});
