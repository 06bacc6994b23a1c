import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { KitError, messageOf } from '../../base/errors.ts';

/** The key of the secrets where it comes from outside, or the path of the file that has it. */
export type KeySource = Buffer | string;

/** The path of the key file of a SQLite database, which only its owner may read. */
export const keyPathOf = (path: string) => `${path}.key`;
/** Where the next key is: one that a process wrote for a rekey, and did not adopt yet, or never will. */
export const nextKeyPathOf = (path: string) => `${path}.next`;

/** The key in a file, then the next one if there is one. @throws KitError STORE_UNUSABLE if the file is missing, or one has no key */
export function keysAt(path: string): readonly [key: Buffer, ...next: Buffer[]] {
  const next = readKey(nextKeyPathOf(path)); // first, as it may take the other's place meanwhile
  const key = readKey(path);
  if (key) return next ? [key, next] : [key];
  throw unusable(`secrets are sealed, but ${path} is missing: restore the key file or set SECRETS_KEY`);
}

/** The key in a file; undefined without the file. */
function readKey(path: string): Buffer | undefined {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(`the key file ${path} cannot be read: check its owner and mode`, cause);
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === 32) return key;
  throw unusable(`${path} does not hold a key (32 bytes in base64): restore the right file`);
}

/**
 * The key in a file, a new one if there is none. It is written to another file and linked into place: neither a crash nor a second process
 * leaves half a key or two.
 * @param former the key file whose owner and group are to read this one, too, whoever makes it: the service runs as one of them
 */
export function makeKey(path: string, former?: string): Buffer {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    fs.writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
    if (former !== undefined) {
      const { uid, gid, mode } = fs.statSync(former);
      fs.chownSync(draft, uid, gid);
      fs.chmodSync(draft, mode & 0o640);
    }
    fs.linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw unusable(`cannot write the key file ${path} (${messageOf(cause)}): run this as its owner`, cause);
  } finally {
    fs.rmSync(draft, { force: true });
  }
  const folder = fs.openSync(dirname(path), 'r');
  fs.fsyncSync(folder); // its name is on disk, too
  fs.closeSync(folder);
  return keysAt(path)[0];
}

/** Puts the next key into the place of the key. */
export function adoptNextKey(path: string): void {
  try {
    fs.renameSync(nextKeyPathOf(path), path);
  } catch (error) {
    if (fs.existsSync(nextKeyPathOf(path))) throw error; // else another process that needed the key has moved it
  }
}

const unusable = (message: string, cause?: unknown) => new KitError('STORE_UNUSABLE', message, { cause });
