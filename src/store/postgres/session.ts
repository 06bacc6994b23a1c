/** Where statements are executed: a transaction, or single statements that are each committed at once. */
export interface Session {
  /** The rows of one statement. Integers come as numbers, binary values as Buffers. */
  rows<R>(sql: string, params?: readonly unknown[]): Promise<R[]>;
  /** Several statements without parameters. */
  script(sql: string): Promise<void>;
}

/**
 * A text as PostgreSQL can keep it: NUL, which it takes in no text, and U+0001 become two characters each, so that nothing
 * else changes, the order of texts included.
 */
export function toText(text: string): string {
  return UNSTORABLE.test(text)
    ? text.replace(EACH_UNSTORABLE, (one) => `\u0001${one === '\0' ? '\u0001' : '\u0002'}`)
    : text;
}

/** The text of which `toText` made this. */
export function fromText(stored: string): string {
  return stored.includes('\u0001')
    ? stored.replace(ESCAPED, (_, one) => (one === '\u0001' ? '\0' : '\u0001'))
    : stored;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const UNSTORABLE = /[\u0000\u0001]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const EACH_UNSTORABLE = /[\u0000\u0001]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const ESCAPED = /\u0001([\u0001\u0002])/g;

/** The same of a text that may be missing. */
export function toTextOrNull(text: string | undefined | null): string | null {
  return text === undefined || text === null ? null : toText(text);
}

export function fromTextOrNull(stored: string | null): string | undefined {
  return stored === null ? undefined : fromText(stored);
}

/** The same row with its texts as they came in. */
export function decoded<R extends object>(row: R): R {
  const members = Object.entries(row).map(([name, value]) => [
    name,
    typeof value === 'string' ? fromText(value) : value,
  ]);
  return Object.fromEntries(members) as R;
}

/** The values of each column, as `unnest` takes them: one array a column. */
export function columns<R>(rows: readonly R[], ...of: readonly ((row: R) => unknown)[]): unknown[][] {
  return of.map((value) => rows.map(value));
}

/** An array as the server reads it. pg would look for quotes in each number as well, and copy each text several times. */
export function literalOf(values: readonly unknown[]): string {
  return `{${values.map(elementOf).join()}}`;
}

function elementOf(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (value === null || value === undefined) return 'NULL';
  if (ArrayBuffer.isView(value))
    return `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}"`;
  const text = String(value);
  return QUOTED.test(text) ? `"${text.replace(EACH_QUOTED, '\\$&')}"` : `"${text}"`;
}

const QUOTED = /["\\]/;
const EACH_QUOTED = /["\\]/g;

/** A place or time as a bigint has it, which has no infinity. */
export function placeOf(place: number): number {
  return Math.max(-MAX_PLACE, Math.min(place, MAX_PLACE));
}

/** The largest of these, and with a minus the smallest. */
export const MAX_PLACE = Number.MAX_SAFE_INTEGER;
