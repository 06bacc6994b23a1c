import { attempt, inOrder, oneByOne } from '../threads/batches.ts';
import type { Batch, Connection } from '../threads/protocol.ts';
import { openReader, openWriter } from './open-sqlite.ts';
import { batchWriter, FileGuard } from './write-batch.ts';

export type Mode = 'read' | 'write';

/**
 * Most of what is written is never read again. A commit that has split pages of an index makes SQLite go through all pages that it keeps,
 * so more than these cost more than they save (docs/decisions/0016-what-an-ack-costs.md). A query that needs more pages finds them with
 * the operating system; SQLite's own default is four times as many.
 */
const CACHE_KIB = 4000;

/**
 * Opens a connection to a database.
 * @param cacheKiB how much of the database to keep in memory
 * @returns once its operations are loaded: each mode has its own
 * @throws the error of SQLite if the database cannot be opened
 */
export async function openConnection(path: string, mode: Mode, cacheKiB = CACHE_KIB): Promise<Connection> {
  const operationsOf =
    mode === 'write' ? (await import('./writes.ts')).writesOf : (await import('./queries/reads.ts')).readsOf;
  const db = mode === 'write' ? openWriter(path) : openReader(path);
  db.pragma(`cache_size = -${cacheKiB}`);
  const operate = inOrder(operationsOf(db));
  if (mode === 'read') {
    const run = (batch: Batch) => oneByOne(batch, (one) => attempt(() => operate([one])));
    return { run, close: () => void db.close() };
  }
  const guard = new FileGuard(path);
  return {
    run: batchWriter(db, guard, operate),
    close() {
      db.close();
      guard.setLogAside();
    },
  };
}
