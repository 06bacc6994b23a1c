import { realpathSync, renameSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { attempt, codeOf, failure, type Operate, oneByOne } from '../threads/batches.ts';
import { alone, type Batch, type Replies } from '../threads/protocol.ts';
import { identityOf } from './upkeep.ts';

/**
 * Requests that a power cut may undo: an event that was claimed or settled then runs again, and its handler can tell. A
 * commit of these alone does not wait for the disk. A crash of the process undoes none of them.
 */
const relaxed: ReadonlySet<string> = new Set(['claim', 'renew', 'settle', 'step', 'holds']);

/**
 * Does batches: all requests in one commit; if that fails, each in a commit of its own, so that one cannot spoil the
 * others. An error of the whole database fails them all: if each waited for a lock in turn, say, they would hold the
 * thread for minutes.
 */
export function batchWriter(
  db: Database,
  guard: FileGuard,
  operate: Operate,
): (batch: Batch) => Promise<Replies> {
  const setDurability = durabilityOf(db);
  const transact = transactionOf(db);
  const inOneCommit = (batch: Batch) => transact(() => operate(batch));
  const separately = (one: Batch[number]): Promise<Replies> => {
    setDurability('FULL');
    return attempt(() => (alone.has(one.name) ? operate([one]) : inOneCommit([one])));
  };
  return async (batch) => {
    try {
      guard.check();
      if (batch.some(({ name }) => alone.has(name))) return await oneByOne(batch, separately);
      setDurability(batch.every(({ name }) => relaxed.has(name)) ? 'NORMAL' : 'FULL');
      return (await inOneCommit(batch)).map((output) => ({ output }));
    } catch (error) {
      if (batch.length === 1 || !concernsOneRequest(error)) return batch.map(() => failure(error));
      return oneByOne(batch, (one) => attempt(() => inOneCommit([one])));
    }
  };
}

/** A transaction around work that may wait for promises. The connection does one batch at a time, so nothing comes between. */
export function transactionOf(db: Database): <T>(work: () => Promise<T>) => Promise<T> {
  const [begin, commit, rollback] = ['BEGIN IMMEDIATE', 'COMMIT', 'ROLLBACK'].map((sql) => db.prepare(sql));
  return async (work) => {
    begin?.run();
    try {
      const done = await work();
      commit?.run();
      return done;
    } catch (error) {
      if (db.inTransaction) rollback?.run(); // some errors of SQLite end the transaction themselves
      throw error;
    }
  };
}

/** Sets how far a commit goes, where it changes: FULL waits for the disk, NORMAL leaves that to the next FULL. */
function durabilityOf(db: Database): (durability: 'FULL' | 'NORMAL') => void {
  let current = 'FULL';
  return (durability) => {
    if (durability !== current) db.pragma(`synchronous = ${durability}`);
    current = durability;
  };
}

/** Whether a batch may have failed because of one request, and not because of the database. */
function concernsOneRequest(error: unknown): boolean {
  return !(error instanceof FilesMoved) && !/^SQLITE_(BUSY|IOERR|READONLY)/.test(codeOf(error) ?? '');
}

/** Thrown when the files of an open database were moved or deleted. */
class FilesMoved extends Error {}

/**
 * Watches the files of an open database. On Linux a file that was moved or deleted can still be written to, and the
 * notifications acknowledged meanwhile would be lost with it.
 */
export class FileGuard {
  readonly #database: OpenFile;
  readonly #log: OpenFile;

  /** @param path of a database that is open, or a link to it; SQLite names the log after the database itself */
  constructor(path: string) {
    this.#database = openFile(path);
    this.#log = openFile(`${realpathSync(path)}-wal`);
  }

  /** Throws while the files are not where they were. It takes 5 µs, so it runs before every commit. */
  check(): void {
    for (const { file, identity } of [this.#database, this.#log]) {
      if (identity !== undefined && identityOf(file) === identity) continue;
      throw new FilesMoved(
        `${file} was moved, deleted or replaced: move it back; to work with the file that is there now instead, stop this process with SIGTERM, so that it writes what it has into its own file, and start again`,
      );
    }
  }

  /**
   * To be called when the database is closed. If another file has its name by then, as a backup that was restored beside a
   * running server, the log is not of that file: SQLite would take it for that file's, and spoil it. So the log gets another
   * name. While there is no file it keeps its own: the database may be moved back.
   */
  setLogAside(): void {
    const present = identityOf(this.#database.file);
    const isReplaced = present !== undefined && present !== this.#database.identity;
    const { file, identity } = this.#log;
    if (isReplaced && identityOf(file) === identity) renameSync(file, `${file}.of-replaced`);
  }
}

/** A file, and what tells it from others that take its name. */
interface OpenFile {
  readonly file: string;
  readonly identity: string | undefined;
}

function openFile(file: string): OpenFile {
  return { file, identity: identityOf(file) };
}
