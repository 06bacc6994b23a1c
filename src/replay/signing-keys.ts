import type { KeyObject } from 'node:crypto';
import { keyOf } from '../notification/token.ts';
import type { WebhookSecret } from '../store/event-store.ts';

/** The keys that sign notifications. */
export interface SigningKeys {
  /** The key of a webhook; undefined if no secret is known for it. */
  keyFor(webhookId: string): KeyObject | undefined;
  /** the webhooks with a secret of their own */
  readonly webhooks: readonly string[];
}

/** One secret signs for every webhook. */
export function oneKey(secret: string): SigningKeys {
  const key = keyOf(secret);
  return { keyFor: () => key, webhooks: [] };
}

/**
 * The newest stored secret of a webhook signs for it, as a receiver with this store verifies it.
 * @param fallback signs for webhooks without a stored secret
 */
export function storedKeys(secrets: readonly WebhookSecret[], fallback: string | undefined): SigningKeys {
  // A secret that is about to retire comes first, so that one that stays live replaces it.
  const inOrder = [...secrets].sort(
    (a, b) => Number(a.retireAt === undefined) - Number(b.retireAt === undefined),
  );
  const stored = new Map(inOrder.map(({ webhookId, secret }) => [webhookId, keyOf(secret)]));
  const other = fallback === undefined ? undefined : keyOf(fallback);
  return { keyFor: (webhookId) => stored.get(webhookId) ?? other, webhooks: [...stored.keys()] };
}
