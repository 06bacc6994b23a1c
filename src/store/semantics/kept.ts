import type { Tables } from '../driver.ts';

/** What a database keeps about itself under a name, as JSON; undefined if nothing. */
export async function kept<T>(tables: Pick<Tables, 'meta'>, name: string): Promise<T | undefined> {
  const stored = await tables.meta(name);
  return stored && (JSON.parse(Buffer.from(stored).toString('utf8')) as T);
}

/** A value as it is kept. */
export function toKept(value: object): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}
