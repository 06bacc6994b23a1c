import { migrations } from './migrations.ts';
import { openReader } from './open-sqlite.ts';

/** What a database file looks like from outside. */
export interface Inspection {
  /** of its schema; 0 where it has none yet */
  readonly version: number;
  /** the newest version that this program knows */
  readonly known: number;
  /** what SQLite finds damaged; none where all is well */
  readonly problems: readonly string[];
}

/** As many as somebody reads. */
const MOST_PROBLEMS = 3;

/**
 * Reads a database through without changing it, beside whatever process works with it.
 * @throws if it is no database, or cannot be read
 */
export function inspectDatabase(path: string): Inspection {
  const db = openReader(path);
  try {
    const version = Number(db.pragma('user_version', { simple: true }));
    const found = db.prepare<[], string>(`PRAGMA quick_check(${MOST_PROBLEMS})`).pluck().all();
    return { version, known: migrations.length, problems: found.filter((text) => text !== 'ok') };
  } finally {
    db.close();
  }
}
