import type { Config } from '../../config.ts';
import type { SigningKeys } from '../../replay/signing-keys.ts';
import { readSecret } from '../read-secret.ts';
import { hasDatabase, withDatabase } from './open-database.ts';

/**
 * The keys that a command signs with. The secret of the file, if one is given (`-`: stdin), signs for every webhook;
 * otherwise the stored ones do, and WEBHOOK_SECRET for webhooks without one, as a receiver here verifies them.
 */
export async function keysFor(config: Config, secretFile: string | undefined): Promise<SigningKeys> {
  const { oneKey, storedKeys } = await import('../../replay/signing-keys.ts');
  if (secretFile !== undefined) return oneKey(await readSecret(secretFile === '-' ? undefined : secretFile));
  const stored = hasDatabase(config) ? await withDatabase(config, (store) => store.secrets()) : [];
  return storedKeys(stored, config.WEBHOOK_SECRET);
}
