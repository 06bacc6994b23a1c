import { messageOf } from '../../base/errors.ts';
import type { AdminNeeds } from '../../observer.ts';
import { type Webhook, WebhooksClient } from '../../provider/index.ts';

/** The webhooks at the provider, or why they are not known. */
type Registered = { readonly webhooks: readonly Webhook[] } | { readonly unknown: string };

/** A page that follows what happens would ask the provider each second. */
const ASK_EVERY_MS = 60_000;
/** A page waits so long for the provider. */
const PATIENCE_MS = 3000;

/**
 * Gives a function that tells which webhooks the provider has. It asks the provider once a minute at most, and when a secret was stored
 * since: a webhook that was made a moment ago is not told of as gone.
 */
export function registeredWebhooks({ config, clock }: Pick<AdminNeeds, 'config' | 'clock'>) {
  const { PROVIDER_BASE_URL: baseUrl, PROVIDER_API_SECRET: apiSecret } = config;
  const ask = async (): Promise<Registered> => {
    if (apiSecret === undefined) return { unknown: 'PROVIDER_API_SECRET is not set' };
    const client = new WebhooksClient({ baseUrl, apiSecret, timeoutMs: PATIENCE_MS, maxAttempts: 1 });
    return Array.fromAsync(client.list()).then(
      (webhooks) => ({ webhooks }),
      (error) => ({ unknown: messageOf(error) }),
    );
  };
  let last: { readonly askedAt: number; readonly answer: Promise<Registered> } | undefined;
  return (secretStoredAt: number) => {
    const now = clock.now();
    const { askedAt = Number.NEGATIVE_INFINITY } = last ?? {};
    const isOld = now - askedAt >= ASK_EVERY_MS || (secretStoredAt > askedAt && secretStoredAt <= now);
    if (!last || isOld) last = { askedAt: now, answer: ask() };
    return last.answer;
  };
}
