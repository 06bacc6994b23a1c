import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { KitError, messageOf } from '../errors.ts';
import { say } from './print.ts';

/**
 * A secret from a file, or from stdin: never from an argument, which everybody on the machine could read.
 * @throws KitError INPUT_INVALID if there is none, or it has spaces or line breaks inside
 */
export async function readSecret(file: string | undefined): Promise<string> {
  if (file === undefined && process.stdin.isTTY) {
    say('Paste the secret, then press Enter and Ctrl-D:');
  }
  const given = file === undefined ? await text(process.stdin) : await fromFile(file);
  const secret = given.trim();
  if (/^\S+$/.test(secret)) return secret;
  const problem = secret === '' ? 'is empty' : 'has spaces or line breaks inside';
  throw new KitError(
    'INPUT_INVALID',
    `the secret ${problem}: give it alone, in a file (--secret-file) or on stdin`,
  );
}

async function fromFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new KitError('INPUT_INVALID', `cannot read the secret file: ${messageOf(cause)}`, { cause });
  }
}
