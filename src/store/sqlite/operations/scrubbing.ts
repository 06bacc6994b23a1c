import type { Database } from 'better-sqlite3';
import { meta, metaOrSet } from './meta.ts';

/** Set where every page was zeroed when it was freed, from the first write on, or since the last VACUUM. */
const ZEROED = 'zeroed';

/** How long one try holds up the writes of a running server, at most. */
const TRY_MS = 500;

/** Remembers that a database has nothing in it but what is stored there. */
export function markZeroed(db: Database): () => void {
  const set = metaOrSet(db);
  return () => void set({ name: ZEROED, value: Buffer.alloc(0) });
}

/** Works the log into the file and empties it; false if another process still reads an older state from it. */
export function emptyLog(db: Database): () => boolean {
  return () => {
    const before = Number(db.pragma('busy_timeout', { simple: true }));
    db.pragma(`busy_timeout = ${TRY_MS}`);
    try {
      return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
    } finally {
      db.pragma(`busy_timeout = ${before}`);
    }
  };
}

/** How many bytes have to be written again, since what was deleted may still lie between them; 0: none. */
export function unzeroedBytes(db: Database): () => number {
  const isZeroed = meta(db);
  return () => {
    if (isZeroed(ZEROED)) return 0;
    const pages = Number(db.pragma('page_count', { simple: true }));
    return pages * Number(db.pragma('page_size', { simple: true }));
  };
}

/** Writes the whole database again, without what was deleted. */
export function rewrite(db: Database): () => void {
  const mark = markZeroed(db);
  return () => {
    db.exec('VACUUM');
    mark();
  };
}
