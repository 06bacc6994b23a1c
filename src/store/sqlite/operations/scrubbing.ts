import type { Database } from 'better-sqlite3';
import { bytesOf } from '../database-facts.ts';
import { checkpoint } from './checkpoint.ts';
import { meta, metaOrSet } from './meta.ts';

/** Set if every freed page was zeroed, from the first write on or since the last VACUUM. */
export const ZEROED = 'zeroed';

/** How long one try delays the writes of a running server, at most. */
const TRY_MS = 500;

/** Records that the file of a database has no deleted content. */
export function markZeroed(db: Database): () => void {
  const set = metaOrSet(db);
  return () => void set({ name: ZEROED, value: Buffer.alloc(0) });
}

/** Moves the log into the file and empties it; false if another process still reads an older state from the log. */
export function emptyLog(db: Database): () => boolean {
  return () => checkpoint(db, 'TRUNCATE', TRY_MS);
}

/** How many bytes have to be rewritten because deleted content may still be between them; 0: none. */
export function unzeroedBytes(db: Database): () => number {
  const isZeroed = meta(db);
  return () => {
    return isZeroed(ZEROED) ? 0 : bytesOf(db);
  };
}

/** Rewrites the whole database without deleted content. */
export function rewrite(db: Database): () => void {
  const mark = markZeroed(db);
  return () => {
    db.exec('VACUUM');
    mark();
  };
}
