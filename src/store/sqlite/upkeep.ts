import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';
import { systemClock } from '../../base/clock.ts';
import { standStill } from '../../base/stand-still.ts';

// What concerns the file and its log, and no table.

/** The version of a database's schema; 0 if it has none yet. */
export function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** How long a database is without its log, in bytes. */
export function bytesOf(db: Database): number {
  return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
}

/** As many as a reader needs. */
const MOST_PROBLEMS = 3;

/** The damages that SQLite finds: it reads the whole database. */
export function problemsOf(db: Database): readonly string[] {
  const found = db.prepare<[], string>(`PRAGMA quick_check(${MOST_PROBLEMS})`).pluck().all();
  return found.filter((text) => text !== 'ok');
}

/**
 * How long a page of a new database is, in bytes. Each commit writes whole pages to the log, of which an event changes a few
 * bytes; shorter ones leave a fifth of the file empty, as a notification and a half fills them. SQLite's default is 4096.
 */
const PAGE_BYTES = 2048;

/** Sets how long the pages of a database are that has none yet; others keep theirs. */
export function setPageSize(db: Database): void {
  db.pragma(`page_size = ${PAGE_BYTES}`);
}

/** Tells one file from another that took its name; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}

/** How long the writes of all programs wait at most for queries that still read from the log. */
const RESET_MS = 50;

/**
 * Moves the log into the file, so that the next write begins the log anew.
 * @returns false if another program reads an older state from it, or moves it itself
 */
export function resetLog(db: Database): () => boolean {
  return () => {
    // Most of it is moved while other programs can write, and only the rest while they wait.
    db.pragma('wal_checkpoint(PASSIVE)');
    return checkpoint(db, 'RESTART', RESET_MS);
  };
}

/** @param tryMs how long it waits for the queries, writes and checkpoints of other connections; up to twice that in all */
function checkpoint(db: Database, mode: 'RESTART' | 'TRUNCATE', tryMs: number): boolean {
  const before = Number(db.pragma('busy_timeout', { simple: true }));
  db.pragma(`busy_timeout = ${tryMs}`);
  try {
    const end = systemClock.monotonic() + tryMs;
    while (db.pragma(`wal_checkpoint(${mode})`, { simple: true }) !== 0) {
      if (systemClock.monotonic() > end) return false;
      standStill(1); // SQLite does not wait for a checkpoint of another program, which comes after each of its commits
    }
    return true;
  } finally {
    db.pragma(`busy_timeout = ${before}`);
  }
}

/** Set if every freed page was zeroed, from the first write on or since the last VACUUM. */
export const ZEROED = 'zeroed';

/** How long one try to empty the log delays the writes of a running server, at most. */
const EMPTY_MS = 500;

/** Records that the file of a database has no deleted content. */
export function markZeroed(db: Database): () => void {
  const set = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING');
  return () => void set.run(ZEROED, Buffer.alloc(0));
}

/** Moves the log into the file and empties it; false if another process still reads an older state from the log. */
export function emptyLog(db: Database): () => boolean {
  return () => checkpoint(db, 'TRUNCATE', EMPTY_MS);
}

/** How many bytes have to be rewritten because deleted content may still be between them; 0: none. */
export function unzeroedBytes(db: Database): () => number {
  const isZeroed = db.prepare<[string], 1>('SELECT 1 FROM meta WHERE name = ?').pluck();
  return () => (isZeroed.get(ZEROED) ? 0 : bytesOf(db));
}

/** Rewrites the whole database without deleted content. */
export function rewrite(db: Database): () => void {
  const mark = markZeroed(db);
  return () => {
    db.exec('VACUUM');
    mark();
  };
}

/** The settings that make a connection durable. */
export interface Settings {
  /** 2 is FULL: a commit returns once it is on disk */
  readonly synchronous: number;
  readonly journalMode: string;
}

export function settings(db: Database): () => Settings {
  return () => ({
    synchronous: db.pragma('synchronous', { simple: true }) as number,
    journalMode: db.pragma('journal_mode', { simple: true }) as string,
  });
}
