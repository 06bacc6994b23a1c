import type { KeyObject } from 'node:crypto';
import { keyOf } from '../notification/token.ts';
import type { WebhookSecret } from '../store/event-store.ts';

/** The keys that sign notifications. */
export interface SigningKeys {
  /** The key of a webhook; undefined if no secret is known for it. */
  keyFor(webhookId: string): KeyObject | undefined;
  /** the webhooks with a secret of their own that is not about to retire */
  readonly webhooks: readonly string[];
}

/** One secret signs for every webhook. */
export function oneKey(secret: string): SigningKeys {
  const key = keyOf(secret);
  return { keyFor: () => key, webhooks: [] };
}

/**
 * The newest stored secret of a webhook signs for it, as a receiver with this store verifies it.
 * @param every all that are stored, retired ones too
 * @param fallback WEBHOOK_SECRET: signs for webhooks that never had a stored secret
 */
export function storedKeys(
  every: readonly WebhookSecret[],
  { fallback, now }: { readonly fallback: string | undefined; readonly now: number },
): SigningKeys {
  const hadOwn = new Set(every.map(({ webhookId }) => webhookId));
  const live = every.filter(({ retireAt }) => retireAt === undefined);
  const retiring = every.filter(({ retireAt = 0 }) => retireAt > now);
  // One that stays live signs rather than one that is about to retire.
  const stored = new Map([...retiring, ...live].map(({ webhookId, secret }) => [webhookId, keyOf(secret)]));
  const other = fallback === undefined ? undefined : keyOf(fallback);
  return {
    keyFor: (webhookId) => stored.get(webhookId) ?? (hadOwn.has(webhookId) ? undefined : other),
    webhooks: [...new Set(live.map(({ webhookId }) => webhookId))],
  };
}
