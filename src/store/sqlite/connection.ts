import type { Database } from 'better-sqlite3';
import { openReader, openWriter } from './open-sqlite.ts';
import type { Batch, Operations, Replies } from './protocol.ts';
import { attempt, batchWriter } from './write-batch.ts';

export type Mode = 'read' | 'write';

/** One connection to a database. It does one batch at a time. */
export interface Connection {
  run(batch: Batch): Replies;
  close(): void;
}

/**
 * @param cacheKiB how much of the database to keep in memory; the default is SQLite's
 * @returns once its operations are loaded: each mode has its own
 * @throws the error of SQLite if the database cannot be opened
 */
export async function openConnection(path: string, mode: Mode, cacheKiB?: number): Promise<Connection> {
  const operations: Operations =
    mode === 'write'
      ? (await import('./operations/writes.ts')).writes
      : (await import('./queries/reads.ts')).reads;
  const db = mode === 'write' ? openWriter(path) : openReader(path);
  if (cacheKiB !== undefined) db.pragma(`cache_size = -${cacheKiB}`);
  const operate = bind(db, operations);
  return {
    run:
      mode === 'write'
        ? batchWriter(db, path, operate)
        : (batch) => batch.flatMap((one) => attempt(() => [{ output: operate(one) }])),
    close: () => void db.close(),
  };
}

function bind(db: Database, operations: Operations): (request: Batch[number]) => unknown {
  const bound = new Map(Object.entries(operations).map(([name, make]) => [name, make(db)]));
  return ({ name, input }) => {
    const operation = bound.get(name);
    if (!operation) throw new Error(`no operation ${name}`);
    return operation(input as never);
  };
}
