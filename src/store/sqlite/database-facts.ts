import { statSync } from 'node:fs';
import type { Database } from 'better-sqlite3';

/** The version of a database's schema; 0 if it has none yet. */
export function versionOf(db: Database): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** How long a database is without its log, in bytes. */
export function bytesOf(db: Database): number {
  return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
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
