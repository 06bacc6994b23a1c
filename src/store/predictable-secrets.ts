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
  if (WEBHOOK_SECRET !== undefined) all.push({ whose: ENVIRONMENT, secret: WEBHOOK_SECRET });
  const found = all.filter(({ secret }) => isPredictable(secret));
  return [...new Set(found.map(({ whose }) => whose))];
}

/** Whether a secret follows from the seed of a mock provider. */
export function isPredictable(secret: string): boolean {
  if (secret.startsWith(SEEDED_MARK)) return true;
  if (!FORMER.test(secret)) return false;
  former ??= formerSecrets();
  return former.has(secret);
}

/** The advice about such secrets. @param found their names */
export function adviceOn(found: readonly string[]): string {
  const ofEnvironment = found.includes(ENVIRONMENT) ? ['set another WEBHOOK_SECRET'] : [];
  const ofStored = found.some((one) => one !== ENVIRONMENT)
    ? [
        'use another secret (npx hookkit webhooks import --id ID --replace), or retire it (npx hookkit webhooks delete ID --grace 0s)',
      ]
    : [];
  return `anybody can compute a secret that follows from the seed of a mock provider: ${[...ofEnvironment, ...ofStored].join('; ')}`;
}

/** Where a service is told to listen. */
interface Place {
  readonly HOST: string;
  readonly TRUST_PROXY: number;
}

/** Whether other machines may reach a service: they could sign with a secret that anybody can compute. */
export function isReachable({ HOST, TRUST_PROXY }: Place): boolean {
  return !isLoopback(HOST) || TRUST_PROXY > 0;
}

/**
 * Refuses to start with a predictable secret where other machines can reach the service: they could sign for the webhook.
 * @throws KitError SECRET_PREDICTABLE
 */
export async function refusePredictable(
  store: Pick<EventStore, 'secrets'>,
  config: Fallback & Place,
): Promise<void> {
  if (!isReachable(config)) return;
  const found = predictable(await store.secrets(), config);
  if (found.length === 0) return;
  throw new KitError(
    'SECRET_PREDICTABLE',
    `no start on ${config.HOST} with the secret of ${found.join(', ')}: ${adviceOn(found)}; or keep other machines out: ${alone(config)}`,
  );
}

/** What to set so that no other machine reaches it. */
function alone({ HOST, TRUST_PROXY }: Place): string {
  const host = isLoopback(HOST) ? [] : ['HOST=127.0.0.1'];
  return [...host, ...(TRUST_PROXY > 0 ? ['TRUST_PROXY=0'] : [])].join(' and ');
}

const ENVIRONMENT = 'WEBHOOK_SECRET';

const FORMER = /^[A-Za-z0-9]{48}$/;

let former: ReadonlySet<string> | undefined;

/** Secrets without a mark, as the mock once made them of its seed 1, which it had unless told otherwise. */
function formerSecrets(): ReadonlySet<string> {
  const draw = seededRandom(Math.floor(seededRandom(1)() * 2 ** 32));
  const text = (length: number) =>
    Array.from({ length }, () => ALPHANUMERIC[Math.floor(draw() * ALPHANUMERIC.length)]).join('');
  return new Set(Array.from({ length: FORMER_WEBHOOKS }, () => text(8 + 48).slice(8)));
}
