import { KitError } from '../base/errors.ts';
import { say } from './print.ts';
import { isStdin, readInput } from './read-input.ts';
import { terminal } from './terminal.ts';

/** Far longer than any secret. */
const LONGEST = 65_536;

/**
 * Reads a secret from a file or from stdin; never from an argument, as every user of the machine can read arguments.
 * @throws KitError INPUT_INVALID if there is none, or it has spaces or line breaks inside
 */
export async function readSecret(file: string | undefined): Promise<string> {
  if (isStdin(file) && terminal().stdin.isTTY) {
    say('Paste the secret, then press Enter and Ctrl-D:');
  }
  const given = await readInput({ file, what: 'the secret file', limit: LONGEST });
  const secret = given.toString('utf8').trim();
  if (/^\S+$/.test(secret)) return secret;
  const problem = secret === '' ? 'is empty' : 'has spaces or line breaks inside';
  throw new KitError(
    'INPUT_INVALID',
    `the secret ${problem}: give only the secret, in a file (--secret-file) or on stdin`,
  );
}
