import type { Database } from 'better-sqlite3';

/** How long the writes of all programs wait at most for queries that still read from the log. */
const TRY_MS = 50;

/**
 * Moves the log into the file, so that the next write begins the log anew.
 * @returns false if another program reads an older state from it, or moves it itself
 */
export function resetLog(db: Database): () => boolean {
  return () => {
    // Most of it is moved while other programs can write, and only the rest while they wait.
    db.pragma('wal_checkpoint(PASSIVE)');
    return checkpoint(db, 'RESTART', TRY_MS);
  };
}

/** @param tryMs how long it waits for the queries and writes of other connections */
export function checkpoint(db: Database, mode: 'RESTART' | 'TRUNCATE', tryMs: number): boolean {
  const before = Number(db.pragma('busy_timeout', { simple: true }));
  db.pragma(`busy_timeout = ${tryMs}`);
  try {
    return db.pragma(`wal_checkpoint(${mode})`, { simple: true }) === 0;
  } finally {
    db.pragma(`busy_timeout = ${before}`);
  }
}
