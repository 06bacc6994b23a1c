/** An http or https URL; undefined for any other text, and with a user name or password, which every error about it would show. */
export function httpUrlOf(text: string): URL | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.username === '' && url.password === '' ? url : undefined;
}

/** A credential that fetch can send in a header: printable ASCII without spaces. */
export const CREDENTIAL = /^[\x21-\x7e]+$/;

/** Whether the path of a request can be appended to it: behind `?` or `#` it would not be a path. */
export function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^\s?#]+$/i.test(text) && httpUrlOf(text) !== undefined;
}

const SQLITE = 'sqlite:';

/**
 * A file, and no folder: SQLite would make a file beside it, of another name. Nor the database in memory, which keeps nothing.
 * Nor the URL of a server, which may have a password. better-sqlite3 takes white space off both ends of a path, and so would open
 * another file than the one that was looked for.
 */
export const SQLITE_URL = new RegExp(`^${SQLITE}(?!\\s|:memory:$|postgres(ql)?:).*[^/\\s]$`);
/** The forms of a DATABASE_URL. */
export const DATABASE_URL = new RegExp(`${SQLITE_URL.source}|^postgres(ql)?://.+$`);

/** The path of the SQLite database that a DATABASE_URL names; undefined if it names a server. */
export function sqlitePathOf(url: string): string | undefined {
  return url.startsWith(SQLITE) ? url.slice(SQLITE.length) : undefined;
}
