import { KitError } from '../base/errors.ts';
import { say } from './print.ts';
import { readInput } from './read-input.ts';
import { terminal } from './terminal.ts';

/** Far more than any secret has. */
const LONGEST = 65_536;

/**
 * A secret from a file, or from stdin: never from an argument, which everybody on the machine could read.
 * @throws KitError INPUT_INVALID if there is none, or it has spaces or line breaks inside
 */
export async function readSecret(file: string | undefined): Promise<string> {
  if (file === undefined && terminal().stdin.isTTY) {
    say('Paste the secret, then press Enter and Ctrl-D:');
  }
  const given = await readInput({ file, what: 'the secret file', limit: LONGEST });
  const secret = given.toString('utf8').trim();
  if (/^\S+$/.test(secret)) return secret;
  const problem = secret === '' ? 'is empty' : 'has spaces or line breaks inside';
  throw new KitError(
    'INPUT_INVALID',
    `the secret ${problem}: give it alone, in a file (--secret-file) or on stdin`,
  );
}
