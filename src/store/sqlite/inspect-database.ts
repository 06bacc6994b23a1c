import { openReader } from './open-sqlite.ts';
import { SCHEMA_VERSION } from './schema.ts';
import { bytesOf, versionOf } from './upkeep.ts';

/** The state of a database file. */
export interface Inspection {
  /** of its schema; 0 if it has none yet */
  readonly version: number;
  /** whether it has no page */
  readonly isEmpty: boolean;
  /** the newest version that this program knows */
  readonly known: number;
  /** the damages that SQLite finds */
  readonly problems: readonly string[];
}

/** As many as a reader needs. */
const MOST_PROBLEMS = 3;

/**
 * Reads a whole database without changing it, beside other processes.
 * @throws if the file is not a database, or cannot be read
 */
export function inspectDatabase(path: string): Inspection {
  const db = openReader(path);
  try {
    const version = versionOf(db);
    const found = db.prepare<[], string>(`PRAGMA quick_check(${MOST_PROBLEMS})`).pluck().all();
    return {
      version,
      isEmpty: bytesOf(db) === 0,
      known: SCHEMA_VERSION,
      problems: found.filter((text) => text !== 'ok'),
    };
  } finally {
    db.close();
  }
}

/**
 * The version of the schema of a database, and no more of it.
 * @throws if the file is not a database, or cannot be read
 */
export function schemaVersionOf(path: string): Pick<Inspection, 'version' | 'known'> {
  const db = openReader(path);
  try {
    return { version: versionOf(db), known: SCHEMA_VERSION };
  } finally {
    db.close();
  }
}
