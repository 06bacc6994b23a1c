import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { KitError, messageOf } from '../base/errors.ts';

/**
 * The 32-byte key in a file beside the database, made with mode 0600 if there is none. Written aside and linked into
 * place, so that neither a crash nor a second process can leave half a key or two.
 * @throws KitError STORE_UNUSABLE if the file is not a key, or is needed and missing
 */
export function readOrMakeKeyFile(path: string, options: { readonly mayMake: boolean }): Buffer {
  const existing = read(path);
  if (existing) return existing;
  if (!options.mayMake) {
    throw new KitError(
      'STORE_UNUSABLE',
      `the database has sealed secrets but ${path} is missing: put the key file back or set SECRETS_KEY`,
    );
  }
  const draft = draftKey(path);
  try {
    linkSync(draft.file, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft.file);
  }
  syncDirectory(path);
  return readOrMakeKeyFile(path, { mayMake: false });
}

/** A key that is written down and not in its place yet. */
export interface DraftedKey {
  readonly file: string;
  readonly key: Buffer;
}

/**
 * Writes a new key down beside the key file, in a file of its own that no other process takes for its own.
 * @throws KitError STORE_UNUSABLE if it cannot be written, and then nothing is left of it
 */
export function draftKey(path: string): DraftedKey {
  const file = `${path}.next-${randomBytes(4).toString('hex')}`;
  const key = randomBytes(32);
  try {
    const opened = openSync(file, 'wx', 0o600);
    try {
      writeSync(opened, `${key.toString('base64')}\n`);
      fsyncSync(opened);
    } finally {
      closeSync(opened);
    }
    syncDirectory(path);
  } catch (cause) {
    rmSync(file, { force: true });
    throw new KitError('STORE_UNUSABLE', `cannot write the key file ${file}: ${messageOf(cause)}`, { cause });
  }
  return { file, key };
}

/** Keys that were written down by a process that did not live to put one in its place. */
export function draftedKeys(path: string): DraftedKey[] {
  const start = `${basename(path)}.next-`;
  const files = readdirSync(dirname(path)).filter((name) => name.startsWith(start));
  return files.flatMap((name) => {
    const file = join(dirname(path), name);
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
    return key.length === 32 ? [{ file, key }] : []; // half of one, from a crash
  });
}

/** Puts a key that was written down in the place of the key file. */
export function adoptKey(file: string, path: string): void {
  try {
    renameSync(file, path);
  } catch (error) {
    // Another process that needed the key has done it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  syncDirectory(path);
}

/** Only then a new name in a directory survives the loss of power. */
function syncDirectory(path: string): void {
  if (process.platform === 'win32') return; // which cannot open directories
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function read(path: string): Buffer | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new KitError('STORE_UNUSABLE', `the key file ${path} cannot be read: check its owner and mode`, {
      cause,
    });
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === 32) return key;
  throw new KitError(
    'STORE_UNUSABLE',
    `${path} does not hold a key (32 bytes in base64): put the right one back`,
  );
}
