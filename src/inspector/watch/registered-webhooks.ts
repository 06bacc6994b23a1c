import { messageOf } from '../../base/errors.ts';
import type { AdminNeeds } from '../../observer.ts';
import { type Webhook, WebhooksClient } from '../../provider/index.ts';

/** What the provider says of its webhooks. */
interface Registered {
  readonly askedAt: number;
  readonly webhooks?: readonly Webhook[];
  readonly error?: string;
}

/** A page that follows what happens would ask the provider each second. */
const ASK_EVERY_MS = 60_000;
/** A page waits so long for the provider. */
const PATIENCE_MS = 3000;

/** Asks the provider which webhooks it has, once a minute at most; undefined where it cannot be asked. */
export function registeredWebhooks({ config, clock }: Pick<AdminNeeds, 'config' | 'clock'>) {
  const { PROVIDER_BASE_URL: baseUrl, PROVIDER_API_SECRET: apiSecret } = config;
  if (apiSecret === undefined) return async () => undefined;
  const client = new WebhooksClient({ baseUrl, apiSecret, timeoutMs: PATIENCE_MS, maxAttempts: 1 });
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: Promise<Registered>;
  return () => {
    const now = clock.now();
    if (now - askedAt < ASK_EVERY_MS) return answer;
    askedAt = now;
    answer = Array.fromAsync(client.list()).then(
      (webhooks) => ({ askedAt: now, webhooks }),
      (error) => ({ askedAt: now, error: messageOf(error) }),
    );
    return answer;
  };
}
