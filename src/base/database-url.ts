const SQLITE = 'sqlite:';

/**
 * A file, and no folder: SQLite would make a file beside it, of another name. Nor the database in memory, which keeps nothing.
 * Nor the URL of a server, which may have a password. better-sqlite3 takes white space off both ends of a path, and so would open
 * another file than the one that was looked for.
 */
export const SQLITE_URL = new RegExp(`^${SQLITE}(?!\\s|:memory:$|postgres(ql)?:).*[^/\\s]$`);
/** What a DATABASE_URL may be. */
export const DATABASE_URL = new RegExp(`${SQLITE_URL.source}|^postgres(ql)?://.+$`);

/** The path of the SQLite database that a DATABASE_URL names; undefined if it names a server. */
export function sqlitePathOf(url: string): string | undefined {
  return url.startsWith(SQLITE) ? url.slice(SQLITE.length) : undefined;
}
