import type { KeyObject } from 'node:crypto';
import { hasDatabase, withDatabase } from '../cli/events/open-database.ts';
import { readSecret } from '../cli/read-secret.ts';
import type { Config } from '../config.ts';
import { keyOf } from '../notification/token.ts';
import type { EventStore } from '../store/event-store.ts';

export interface SigningKeys {
  /** The key that a webhook's notifications are signed with; undefined where no secret is known. */
  keyFor(webhookId: string): KeyObject | undefined;
  /** those that have a stored secret */
  readonly webhooks: readonly string[];
}

/**
 * Where secrets come from: the file, if one is given (`-`: stdin); else what is stored for the webhook, and for webhooks
 * that have none, WEBHOOK_SECRET: the same that a receiver here would verify with.
 */
export async function signingKeys(config: Config, secretFile: string | undefined): Promise<SigningKeys> {
  if (secretFile !== undefined) {
    const key = keyOf(await readSecret(secretFile === '-' ? undefined : secretFile));
    return { keyFor: () => key, webhooks: [] };
  }
  const stored = hasDatabase(config)
    ? await withDatabase(config, newestSecrets)
    : new Map<string, KeyObject>();
  const fallback = config.WEBHOOK_SECRET === undefined ? undefined : keyOf(config.WEBHOOK_SECRET);
  return { keyFor: (webhookId) => stored.get(webhookId) ?? fallback, webhooks: [...stored.keys()] };
}

async function newestSecrets(store: EventStore): Promise<Map<string, KeyObject>> {
  const secrets = await store.secrets();
  // Those that are to retire first: what stays live is set over them.
  const inOrder = [...secrets].sort(
    (a, b) => Number(a.retireAt === undefined) - Number(b.retireAt === undefined),
  );
  return new Map(inOrder.map(({ webhookId, secret }) => [webhookId, keyOf(secret)]));
}
