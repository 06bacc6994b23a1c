import { readFile } from 'node:fs/promises';
import { KitError, messageOf } from '../../errors.ts';

const SHORTEST = 16;

/**
 * The key for redacting: whatever is in a file, white space at its ends left out.
 * @throws KitError INPUT_INVALID if it cannot be read or is too short to protect anything
 */
export async function readKey(file: string): Promise<Uint8Array> {
  const text = await readFile(file, 'utf8').catch((cause) => {
    throw new KitError('INPUT_INVALID', `cannot read the redaction key: ${messageOf(cause)}`, { cause });
  });
  const key = Buffer.from(text.trim());
  if (key.length >= SHORTEST) return key;
  throw new KitError(
    'INPUT_INVALID',
    `the redaction key in ${file} is shorter than ${SHORTEST} bytes: make one with openssl rand -base64 32`,
  );
}
