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

/** Tells one file from another that took its name; undefined if there is none. */
export function identityOf(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat && `${stat.dev}:${stat.ino}`;
}
