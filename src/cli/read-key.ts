import { KitError } from '../base/errors.ts';
import { readSecret } from './read-secret.ts';

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
