import { statSync } from 'node:fs';
import { KitError } from '../base/errors.ts';

/**
 * Whether a file of a SQLite database is there.
 * @throws KitError STORE_UNUSABLE if that cannot be seen: without rights to its directory, any file seems missing
 */
export function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new KitError(
      'STORE_UNUSABLE',
      `cannot look whether there is ${path} (${code}): run this as the user that the server runs as, or correct DATABASE_URL`,
      { cause },
    );
  }
}
