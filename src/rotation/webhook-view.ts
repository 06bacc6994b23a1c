import type { Webhook } from '../provider/index.ts';
import type { EventStore, WebhookSecret } from '../store/event-store.ts';
import { replacedBy } from './rotate.ts';

/** `environment`: WEBHOOK_SECRET verifies, as no secret was ever stored. `missing`: nothing verifies. */
type SecretState = 'live' | 'retiring' | 'missing' | 'environment';

/** WEBHOOK_SECRET serves every webhook that never had a stored secret. */
interface Fallback {
  readonly WEBHOOK_SECRET?: string | undefined;
}

/** The state of the secrets of each webhook. */
export type Standings = ReturnType<typeof standingsFrom>;

export async function readStandings(store: EventStore, config: Fallback): Promise<Standings> {
  return standingsFrom(config, await store.secrets.all(), await store.secrets.live());
}

/**
 * @param ever all secrets that were ever stored; none where there is no database yet
 * @param unretired those that still verify
 */
export function standingsFrom(
  { WEBHOOK_SECRET }: Fallback,
  ever: readonly WebhookSecret[] = [],
  unretired: readonly WebhookSecret[] = [],
) {
  const of = (id: string) => {
    const own = unretired.filter(({ webhookId }) => webhookId === id);
    const retiring = own.flatMap(({ retireAt }) => retireAt ?? []);
    const live = own.length - retiring.length;
    const hadOwn = ever.some(({ webhookId }) => webhookId === id);
    let state: SecretState = WEBHOOK_SECRET === undefined || hadOwn ? 'missing' : 'environment';
    if (own.length > 0) state = live > 0 ? 'live' : 'retiring';
    return { state, live, retiring, hadOwn };
  };
  /** The webhooks for which something is stored. */
  const webhooks = [...new Set(unretired.map(({ webhookId }) => webhookId))];
  return { of, webhooks };
}

/** A webhook as it is shown: its settings at the provider, and the state of its secrets. Never a secret. */
export type WebhookView = ReturnType<typeof viewOf>;

/** @param webhook null where it is gone at the provider; undefined where the provider was not asked */
export function viewOf(id: string, webhook: Webhook | null | undefined, standings: Standings) {
  const { state, live, retiring } = standings.of(id);
  return {
    id,
    provider: webhook && providerView(webhook),
    secret: state,
    live_secrets: live,
    /** until when further secrets verify */
    retiring: retiring.map((time) => new Date(time).toISOString()),
    /** the webhook that an unfinished rotation replaces by this one */
    replaces: webhook ? replacedBy(webhook.metadata.description) : undefined,
  };
}

export function providerView({ metadata, created, last_modified }: Webhook) {
  const { name, description, webhook_url, events, site_ids } = metadata;
  return { name, description, webhook_url, events, site_ids, created, last_modified };
}

/**
 * The webhooks at the provider, and behind them those that are gone there and have a secret.
 * @param registered undefined where the provider was not asked
 */
export function viewsOf(standings: Standings, registered?: readonly Webhook[]): WebhookView[] {
  const ids = new Set(registered?.map(({ id }) => id));
  const others = standings.webhooks.filter((id) => !ids.has(id));
  return [
    ...(registered ?? []).map((webhook) => viewOf(webhook.id, webhook, standings)),
    ...others.map((id) => viewOf(id, registered && null, standings)),
  ];
}
