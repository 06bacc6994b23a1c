import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { KitError } from '../errors.ts';

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
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const file = openSync(draft, 'wx', 0o600);
  try {
    writeSync(file, `${randomBytes(32).toString('base64')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  try {
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return readOrMakeKeyFile(path, { mayMake: false });
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
