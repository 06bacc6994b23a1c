import { systemClock } from '../../base/clock.ts';
import type { Config } from '../../config.ts';
import type { SigningKeys } from '../../replay/signing-keys.ts';
import { hasDatabase, withDatabase } from '../../store/with-store.ts';
import { readSecret } from '../read-secret.ts';

/**
 * The keys that a command signs with. The secret of the file, if one is given (`-`: stdin), signs for every webhook;
 * otherwise the stored ones do, and WEBHOOK_SECRET for webhooks that never had one, as a receiver here verifies them.
 */
export async function keysFor(config: Config, secretFile: string | undefined): Promise<SigningKeys> {
  const { oneKey, storedKeys } = await import('../../replay/signing-keys.ts');
  if (secretFile !== undefined) return oneKey(await readSecret(secretFile));
  const known = { fallback: config.WEBHOOK_SECRET, now: systemClock.now() };
  if (!hasDatabase(config)) return storedKeys([], known);
  return withDatabase(config, async (store) => storedKeys(await store.everySecret(), known));
}
