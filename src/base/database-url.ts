import { resolve } from 'node:path';
import { KitError } from './errors.ts';

const SQLITE = 'sqlite:';
const SERVER = /^postgres(ql)?:\/\/.+$/;

/**
 * A file, and no folder: SQLite would make a file beside it, of another name. Nor the database in memory, which keeps nothing.
 * Nor the URL of a server, which may have a password. better-sqlite3 takes white space off both ends of a path, and so would open
 * another file than the one that was looked for.
 */
export const SQLITE_URL = new RegExp(`^${SQLITE}(?!\\s|:memory:$|postgres(ql)?:).*[^/\\s]$`);
/** What a DATABASE_URL may be. */
export const DATABASE_URL = new RegExp(`${SQLITE_URL.source}|${SERVER.source}`);

/** The path of the SQLite database that a DATABASE_URL names; undefined if it names a server. */
export function sqlitePathOf(url: string): string | undefined {
  return url.startsWith(SQLITE) ? url.slice(SQLITE.length) : undefined;
}

/** The same database, where a relative path starts from a directory; as it is, where that is the process's own. */
export function databaseUrlFrom(directory: string, url: string): string {
  const path = sqlitePathOf(url);
  return path === undefined || directory === process.cwd() ? url : `${SQLITE}${resolve(directory, path)}`;
}

/**
 * The database that an argument of a command names.
 * @param option what the argument is called in errors
 * @param directory from where its path starts
 * @throws KitError INPUT_INVALID, which does not show what was given: it may have a password
 */
export function databaseUrlOf(
  given: string,
  { option, directory }: { readonly option: string; readonly directory: string },
): string {
  if (!DATABASE_URL.test(given)) {
    throw new KitError(
      'INPUT_INVALID',
      `${option} takes sqlite:PATH, or postgres://USER@HOST:PORT/DATABASE (the given value is not shown)`,
    );
  }
  if (SERVER.test(given) && /^[^/]*\/\/[^@/]*:[^@/]*@|[?&]password=/.test(given)) {
    throw new KitError(
      'INPUT_INVALID',
      `the URL of ${option} has a password, which a list of processes shows: leave it out, and set PGPASSWORD or a password file`,
    );
  }
  return databaseUrlFrom(directory, given);
}
