import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { KitError, messageOf } from '../base/errors.ts';
import { syncFile } from '../base/sync-file.ts';
import type { KeySource } from './vault.ts';

/** The path of the key file of a SQLite database. */
export function keyPathOf(path: string): string {
  return `${path}.key`;
}

/**
 * The key in a file beside the database. Where that is a symbolic link, a new key takes the place of the file that it leads to: who
 * keeps the key elsewhere finds it there.
 */
export function keyFile(path: string): KeySource {
  const adoptable = ({ key, file }: NextKey) => ({ key, adopt: () => adoptKey(file, fileOf(path)) });
  return {
    isGiven: false,
    read: (options) => readOrMakeKeyFile(path, options),
    // Former versions left theirs beside the link.
    left: () => [...new Set([fileOf(path), path])].flatMap(nextKeys).map(adoptable),
    next: () => adoptable(writeNextKey(fileOf(path))),
  };
}

/** Where a path leads, also while nothing is there. */
function fileOf(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? resolve(dirname(path), readlinkSync(path)) : path;
}

/**
 * The 32-byte key in a file beside the database; a new one gets mode 0600. The key is written to another file that is
 * then linked into place, so that neither a crash nor a second process can leave half a key or two.
 * @throws KitError STORE_UNUSABLE if the file has no key, or is needed and missing
 */
export function readOrMakeKeyFile(path: string, options: { readonly mayMake: boolean }): Buffer {
  const existing = read(path);
  if (existing) return existing;
  if (!options.mayMake) {
    throw new KitError(
      'STORE_UNUSABLE',
      `the database has sealed secrets but ${path} is missing: restore the key file or set SECRETS_KEY`,
    );
  }
  const file = fileOf(path);
  const next = writeNextKey(file);
  try {
    linkSync(next.file, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(next.file);
  }
  syncFile(dirname(file));
  return readOrMakeKeyFile(path, { mayMake: false });
}

/** A key in a file of its own, not in use yet. */
interface NextKey {
  readonly file: string;
  readonly key: Buffer;
}

/**
 * Writes a new key beside the key file, to a file of its own that no other process uses.
 * @throws KitError STORE_UNUSABLE if the key cannot be written; then no file is left
 */
function writeNextKey(path: string): NextKey {
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
    syncFile(dirname(path));
  } catch (cause) {
    rmSync(file, { force: true });
    throw new KitError('STORE_UNUSABLE', `cannot write the key file ${file}: ${messageOf(cause)}`, { cause });
  }
  return { file, key };
}

/** The keys that a process wrote, and ended before it replaced the key file by one of them. */
function nextKeys(path: string): NextKey[] {
  const start = `${basename(path)}.next-`;
  const files = readdirSync(dirname(path)).filter((name) => name.startsWith(start));
  return files.flatMap((name) => {
    const file = join(dirname(path), name);
    const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
    return key.length === 32 ? [{ file, key }] : []; // half of one, from a crash
  });
}

/** Moves the file of a next key to the place of the key file. */
function adoptKey(file: string, path: string): void {
  try {
    renameSync(file, path);
  } catch (error) {
    // Another process that needed the key has moved it.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  syncFile(dirname(path));
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
    `${path} does not hold a key (32 bytes in base64): restore the right file`,
  );
}
