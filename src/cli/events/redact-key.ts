import { KitError } from '../../base/errors.ts';
import { readInput } from '../read-input.ts';

const SHORTEST = 16;
const LONGEST = 65_536;

/**
 * The key for redacting: whatever is in a file, white space at its ends left out.
 * @throws KitError INPUT_INVALID if it cannot be read or is too short to protect anything
 */
export async function readKey(file: string): Promise<Uint8Array> {
  const given = await readInput({ file, what: 'the redaction key', limit: LONGEST });
  const key = Buffer.from(given.toString('utf8').trim());
  if (key.length >= SHORTEST) return key;
  throw new KitError(
    'INPUT_INVALID',
    `the redaction key in ${file} is shorter than ${SHORTEST} bytes: make one with openssl rand -base64 32`,
  );
}
