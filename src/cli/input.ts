import { createReadStream } from 'node:fs';
import { KitError, messageOf } from '../base/errors.ts';
import { say } from './output.ts';

interface Input {
  /** a file; `-` or none: stdin */
  readonly file: string | undefined;
  /** its name in error messages */
  readonly what: string;
  /** the most bytes to read: a device or a pipe may be endless */
  readonly limit: number;
}

/**
 * Reads a whole file, or all of stdin.
 * @throws KitError INPUT_INVALID if it cannot be read, or is longer than the limit
 */
export async function readInput({ file, what, limit }: Input): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  if (isStdin(file) && process.stdin.isTTY)
    say('reading from the terminal, up to Ctrl-D at the beginning of a line');
  try {
    for await (const piece of isStdin(file) ? process.stdin : createReadStream(file)) {
      pieces.push(piece);
      length += piece.length;
      if (length > limit) break;
    }
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read ${what}: ${messageOf(cause)}`, { cause });
  }
  if (length <= limit) return Buffer.concat(pieces);
  throw new KitError('INPUT_INVALID', `${what} is longer than ${limit} bytes: give another file`);
}

function isStdin(file: string | undefined): file is '-' | undefined {
  return file === undefined || file === '-';
}

/** In bytes; far longer than any secret. */
const LONGEST_SECRET = 65_536;

/**
 * Reads a secret from a file or from stdin; never from an argument, as every user of the machine can read arguments.
 * @throws KitError INPUT_INVALID if there is none, or it has spaces or line breaks inside
 */
export async function readSecret(file: string | undefined): Promise<string> {
  if (isStdin(file) && process.stdin.isTTY)
    throw new KitError('INPUT_INVALID', 'a terminal would show the secret: give it in a file, or by a pipe');
  const given = await readInput({ file, what: 'the secret file', limit: LONGEST_SECRET });
  const secret = given.toString('utf8').trim();
  if (/^\S+$/.test(secret)) return secret;
  const problem = secret === '' ? 'is empty' : 'has spaces or line breaks inside';
  throw new KitError('INPUT_INVALID', `the secret ${problem}: give only the secret, in a file or on stdin`);
}

const KEY = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Reads a SECRETS_KEY from a file or from stdin.
 * @param what its name in error messages @throws KitError INPUT_INVALID if there is none
 */
export async function readKey(file: string | undefined, what: string): Promise<Buffer> {
  const text = await readSecret(file);
  if (KEY.test(text)) return Buffer.from(text, 'base64');
  throw new KitError('INPUT_INVALID', `${what} must be 32 bytes in base64, as from: openssl rand -base64 32`);
}
