import { KitError } from '../base/errors.ts';
import { isLoopback } from '../base/request-origin.ts';
import { ALPHANUMERIC, SEEDED_MARK, seededRandom } from '../base/seeded-random.ts';
import type { EventStore, WebhookSecret } from './event-store.ts';

/** The secret for every webhook that never had one stored. */
interface Fallback {
  readonly WEBHOOK_SECRET?: string | undefined;
}

/** The number of webhooks that an earlier mock is assumed to have made. */
const FORMER_WEBHOOKS = 100;

/**
 * Names the predictable secrets, which follow from the seed of a mock provider: `webhook 2yW4KmiG`,
 * `WEBHOOK_SECRET`.
 * @param stored the secrets that are not retired
 */
export function predictable(stored: readonly WebhookSecret[], { WEBHOOK_SECRET }: Fallback): string[] {
  const all = stored.map(({ webhookId, secret }) => ({ whose: `webhook ${webhookId}`, secret }));
  if (WEBHOOK_SECRET !== undefined) all.push({ whose: 'WEBHOOK_SECRET', secret: WEBHOOK_SECRET });
  const former = all.some(({ secret }) => FORMER.test(secret)) ? formerSecrets() : new Set<string>();
  const found = all.filter(({ secret }) => secret.startsWith(SEEDED_MARK) || former.has(secret));
  return [...new Set(found.map(({ whose }) => whose))];
}

/** The advice about such a secret. */
export const PREDICTABLE_ADVICE =
  'anybody can compute a secret that follows from the seed of a mock provider: use another secret (npx hookkit webhooks import ' +
  '--id ID --replace), or retire it (npx hookkit webhooks delete ID --grace 0s)';

/**
 * Refuses to start with a predictable secret where other machines can reach the service: they could sign for the webhook.
 * @throws KitError SECRET_PREDICTABLE
 */
export async function refusePredictable(
  store: Pick<EventStore, 'secrets'>,
  config: Fallback & { readonly HOST: string; readonly TRUST_PROXY: number },
): Promise<void> {
  if (isLoopback(config.HOST) && config.TRUST_PROXY === 0) return;
  const found = predictable(await store.secrets(), config);
  if (found.length === 0) return;
  throw new KitError(
    'SECRET_PREDICTABLE',
    `no start on ${config.HOST} with the secret of ${found.join(', ')}: ${PREDICTABLE_ADVICE}, or set HOST=127.0.0.1`,
  );
}

const FORMER = /^[A-Za-z0-9]{48}$/;

/** Secrets without a mark, as the mock once made them of its seed 1, which it had unless told otherwise. */
function formerSecrets(): ReadonlySet<string> {
  const draw = seededRandom(Math.floor(seededRandom(1)() * 2 ** 32));
  const text = (length: number) =>
    Array.from({ length }, () => ALPHANUMERIC[Math.floor(draw() * ALPHANUMERIC.length)]).join('');
  return new Set(Array.from({ length: FORMER_WEBHOOKS }, () => text(8 + 48).slice(8)));
}
