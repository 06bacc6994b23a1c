import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { KitError, messageOf } from '../base/errors.ts';

/**
 * Reads a whole file, or all of stdin.
 * @param file `-` or none: stdin
 * @param what its name in error messages
 * @throws KitError INPUT_INVALID if it cannot be read
 */
export async function readInput(file: string | undefined, what: string): Promise<Buffer> {
  try {
    return await buffer(isStdin(file) ? process.stdin : createReadStream(file));
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${what}: ${messageOf(cause)}`, { cause });
  }
}

function isStdin(file: string | undefined): file is '-' | undefined {
  return file === undefined || file === '-';
}

/**
 * Reads a secret from a file or from stdin; never from an argument, as every user of the machine can read arguments.
 * @throws KitError INPUT_INVALID if there is none, or it is obviously something else
 */
export async function readSecret(file: string | undefined): Promise<string> {
  if (isStdin(file) && process.stdin.isTTY)
    throw new KitError('INPUT_INVALID', 'a terminal would show the secret: give it in a file, or by a pipe');
  const bytes = await readInput(file, 'the secret file');
  const secret = bytes.toString('utf8').trim();
  const problem = isUtf8(bytes) && !bytes.includes(0) ? problemOf(secret) : 'is no text in UTF-8';
  if (problem === undefined) return secret;
  throw new KitError('INPUT_INVALID', `the secret ${problem}: give only the secret, in a file or on stdin`);
}

/** Texts that people take for a secret by mistake: stored as one, they would verify nothing. */
function problemOf(secret: string): string | undefined {
  if (secret === '') return 'is empty';
  if (/^(["'`]).*\1$/s.test(secret)) return 'is in quotes';
  if (/^[{[]/.test(secret)) return 'is JSON';
  if (/[\s\p{C}]/u.test(secret)) return 'has spaces, line breaks or invisible characters inside';
  return undefined;
}

/**
 * Reads a SECRETS_KEY from a file or from stdin.
 * @param what its name in error messages
 * @throws KitError INPUT_INVALID if there is none
 */
export async function givenKey(file: string | undefined, what: string): Promise<Buffer> {
  const text = await readSecret(file);
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return Buffer.from(text, 'base64');
  throw new KitError('INPUT_INVALID', `${what} must be 32 bytes in base64, as from: openssl rand -base64 32`);
}
