import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { KitError, messageOf } from '../base/errors.ts';

/** Where the key of the secrets is. Keys have 32 bytes. */
export interface KeySource {
  /** from outside: then so is a new one */
  readonly isGiven: boolean;
  /** The key; a new one if there is none and it may be made. */
  read(mayMake: boolean): Buffer;
  /** The key that a process wrote for a rekey, and did not adopt yet, or never will. */
  next(): Buffer | undefined;
  /** The next key, where a crash cannot lose it: the given one, or a new one. */
  prepare(given: Buffer | undefined): Buffer;
  /** Makes the next key the key. */
  adopt(key: Buffer): void;
}

/** A key from outside. */
export function givenKey(key: Buffer): KeySource {
  let current = key;
  return {
    isGiven: true,
    read: () => current,
    next: () => undefined,
    prepare: (given = key) => given,
    adopt(next) {
      current = next;
    },
  };
}

/** The path of the key file of a SQLite database. */
export function keyPathOf(path: string): string {
  return `${path}.key`;
}

/** The key in a file beside the database, which only its owner may read. */
export function keyFile(named: string): KeySource {
  const path = fs.existsSync(named) ? fs.realpathSync(named) : named; // who keeps the key elsewhere, finds the next one there
  const next = `${path}.next`;
  return {
    isGiven: false,
    read: (mayMake) => read(path) ?? (mayMake ? make(path) : missing(path)),
    next: () => read(next),
    prepare: () => read(next) ?? make(next),
    adopt() {
      try {
        fs.renameSync(next, path);
      } catch (error) {
        // Another process that needed the key has moved it.
        if (fs.existsSync(next)) throw error;
      }
    },
  };
}

/** @throws KitError STORE_UNUSABLE if there is a file without a key */
function read(path: string): Buffer | undefined {
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

/** Writes a key to another file and links that into place: neither a crash nor a second process leaves half a key or two. */
function make(path: string): Buffer {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    const text = `${randomBytes(32).toString('base64')}\n`;
    fs.writeFileSync(draft, text, { flag: 'wx', mode: 0o600, flush: true });
    fs.linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw unusable(`cannot write the key file ${path}: ${messageOf(cause)}`, cause);
  } finally {
    fs.rmSync(draft, { force: true });
  }
  const folder = fs.openSync(dirname(path), 'r');
  fs.fsyncSync(folder); // its name is on disk, too
  fs.closeSync(folder);
  return read(path) ?? missing(path);
}

function missing(path: string): never {
  throw unusable(`secrets are sealed, but ${path} is missing: restore the key file or set SECRETS_KEY`);
}

function unusable(message: string, cause?: unknown): KitError {
  return new KitError('STORE_UNUSABLE', message, { cause });
}
