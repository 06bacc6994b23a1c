import { messageOf } from '../../base/errors.ts';
import type { AdminNeeds } from '../../observer.ts';
import { WebhooksClient } from '../../provider/index.ts';
import { standingsFrom, viewsOf } from '../../rotation/webhook-view.ts';
import { iso, isoOrNull } from '../../store/queue/lists/event-json.ts';
import { webhooksLeftOut } from '../attention/coming-in.ts';
import { endpoint, type Inspected } from './endpoint.ts';
import { refusalJson } from './reports.ts';

/** A page that follows what happens would ask the provider each second. */
const ASK_EVERY_MS = 60_000;
/** A page waits so long for the provider. */
const PATIENCE_MS = 3000;

/**
 * Gives a function that tells which webhooks the provider has. It asks the provider once a minute at most, and when a secret was stored
 * since: a webhook made a moment ago does not seem gone.
 */
export function registeredWebhooks({ config, clock }: AdminNeeds): Inspected['registered'] {
  const { PROVIDER_BASE_URL: baseUrl, PROVIDER_API_SECRET: apiSecret } = config;
  const ask = async () => {
    if (apiSecret === undefined) return { unknown: 'PROVIDER_API_SECRET is not set' };
    const client = new WebhooksClient({ baseUrl, apiSecret, timeoutMs: PATIENCE_MS, maxAttempts: 1 });
    return Array.fromAsync(client.list()).then(
      (webhooks) => ({ webhooks }),
      (error) => ({ unknown: messageOf(error) }),
    );
  };
  let askedAt = Number.NEGATIVE_INFINITY;
  let answer: ReturnType<typeof ask>;
  return (secretStoredAt) => {
    const now = clock.now();
    if (now - askedAt >= ASK_EVERY_MS || secretStoredAt > askedAt) {
      askedAt = now;
      answer = ask();
    }
    return answer;
  };
}

/**
 * The webhooks at the provider and those with a stored secret. The secrets themselves are not shown. `provider` is null if the provider has no
 * such webhook or did not say: `provider_unknown` says why. `fallback`: WEBHOOK_SECRET serves every webhook that never had a stored secret.
 * `last_accepted_at` is null if none of the newest events came by it. `left_out`: nothing of it gets in, as the overview says.
 */
export const WEBHOOKS = endpoint('get', '/webhooks', {
  summary: 'Webhooks at the provider, if it can be asked, and those with a secret. No secret is shown.',
  run: async ({ store, config, watch, clock, registered }) => {
    await watch.report();
    const now = clock.now();
    const [ever, secrets, refusals, accepted] = await Promise.all([
      store.secrets.all(),
      store.secrets.live(),
      store.reports.refusals(),
      store.reports.newestOfWebhooks(),
    ]);
    const leftOut = webhooksLeftOut({ refusals, secrets: ever, accepted, now });
    const newest = Math.max(0, ...secrets.map(({ createdAt }) => createdAt));
    const { webhooks: known, unknown = null } = await registered(newest);
    const shown = viewsOf(standingsFrom(config, ever, secrets), known).map(({ id, provider, secret }) => {
      const isOf = ({ webhookId }: { readonly webhookId: string }) => webhookId === id;
      const refused = refusals.find(isOf);
      return {
        webhook_id: id,
        provider: provider ?? null,
        secret,
        secrets: secrets.filter(isOf).map((one) => ({
          created_at: iso(one.createdAt),
          retires_at: isoOrNull(one.retireAt),
        })),
        last_accepted_at: isoOrNull(accepted.find(isOf)?.receivedAt),
        last_refused: refused ? refusalJson(refused) : null,
        left_out: leftOut.some((one) => one.id === id),
      };
    });
    return { webhooks: shown, provider_unknown: unknown, fallback: config.WEBHOOK_SECRET !== undefined };
  },
});
