import type { Database } from 'better-sqlite3';
import { messageOf } from '../../errors.ts';
import { FilesMoved, fileGuard } from './files.ts';
import { openReader, openWriter } from './open.ts';
import { reads, writes } from './operations/index.ts';
import type { Answers, Batch, Operations } from './protocol.ts';

export type Mode = 'read' | 'write';

/** One connection to a database and what can be done on it, a batch at a time. */
export interface Connection {
  run(batch: Batch): Answers;
  close(): void;
}

/**
 * @param cacheKiB how much of the database is kept in memory; SQLite's default where it is not given
 * @throws whatever SQLite says when the database cannot be opened
 */
export function openConnection(path: string, mode: Mode, cacheKiB?: number): Connection {
  const db = mode === 'write' ? openWriter(path) : openReader(path);
  if (cacheKiB !== undefined) db.pragma(`cache_size = -${cacheKiB}`);
  const call = bind(db, mode === 'write' ? writes : reads);
  const guard = fileGuard(path);
  return {
    run:
      mode === 'write'
        ? (batch) => writeBatch(db, guard, call, batch)
        : (batch) => batch.map((one) => attempt(() => call(one))),
    close: () => void db.close(),
  };
}

function bind(db: Database, operations: Operations): (call: Batch[number]) => unknown {
  const bound = new Map(Object.entries(operations).map(([name, make]) => [name, make(db)]));
  return ({ name, input }) => {
    const operation = bound.get(name);
    if (!operation) throw new Error(`no operation ${name}`);
    return operation(input as never);
  };
}

function failure(error: unknown): Answers[number] {
  return { error: { message: messageOf(error), code: codeOf(error) } };
}

/** Whether a batch may have failed for one of its calls, and not for what all of them need. */
function concernsOneCall(error: unknown): boolean {
  return !(error instanceof FilesMoved) && !/^SQLITE_(BUSY|IOERR|READONLY)/.test(codeOf(error) ?? '');
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function attempt(run: () => unknown): Answers[number] {
  try {
    return { output: run() };
  } catch (error) {
    return failure(error);
  }
}

/**
 * All calls in one commit; if that fails, each in a commit of its own, so that one cannot spoil the others. What concerns
 * the whole database fails them all: were each to wait in turn for a lock, say, they would hold the thread for minutes.
 */
function writeBatch(
  db: Database,
  guard: () => void,
  call: (one: Batch[number]) => unknown,
  batch: Batch,
): Answers {
  try {
    guard();
    return db.transaction(() => batch.map((one) => ({ output: call(one) }))).immediate();
  } catch (error) {
    if (batch.length === 1 || !concernsOneCall(error)) return batch.map(() => failure(error));
    return batch.map((one) => attempt(() => db.transaction(() => call(one)).immediate()));
  }
}
