import { lstatSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KitError } from '../base/errors.ts';

/**
 * Whether a file of a SQLite database is there.
 * @throws KitError STORE_UNUSABLE if that cannot be seen: without rights to its directory, any file seems missing; and if it is
 *   no file: of that, errors of SQLite say something else or nothing
 */
export function isThere(path: string): boolean {
  const stat = statOf(path);
  if (!stat || stat.isFile()) return stat !== undefined;
  const kind = stat.isDirectory() ? 'a directory' : 'a device, a pipe or a socket';
  throw new KitError(
    'STORE_UNUSABLE',
    `${path} is ${kind} and not a file: put a file there, or set another path in DATABASE_URL`,
  );
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new KitError(
      'STORE_UNUSABLE',
      `cannot look whether there is ${path} (${code}): run this as the user that the server runs as, or correct DATABASE_URL`,
      { cause },
    );
  }
}

/** The file that a link leads to, also if it is not there. To be asked behind `isThere`: links may lead in a circle. */
export function targetOf(path: string): string {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  return isLink ? targetOf(resolve(dirname(path), readlinkSync(path))) : path;
}
