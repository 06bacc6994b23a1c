import { allWebhooks, type Webhook, type WebhooksClient } from '../provider/index.ts';
import type { Standings } from './secret-standings.ts';
import { replacedBy } from './successor-mark.ts';

/** A webhook as it is shown: its settings at the provider, and the state of its secrets. Never a secret. */
export interface WebhookView {
  readonly id: string;
  /** null where it is gone at the provider; undefined where the provider was not asked */
  readonly provider: ReturnType<typeof providerView> | null | undefined;
  readonly secret: ReturnType<Standings['stateOf']>;
  readonly live_secrets: number;
  /** until when further secrets verify */
  readonly retiring: readonly string[];
  /** the webhook that an unfinished rotation replaces by this one */
  readonly replaces: string | undefined;
}

/** @param webhook null where it is gone at the provider; undefined where the provider was not asked */
export function viewOf(id: string, webhook: Webhook | null | undefined, standings: Standings): WebhookView {
  const { live, retiring } = standings.of(id);
  return {
    id,
    provider: webhook && providerView(webhook),
    secret: standings.stateOf(id),
    live_secrets: live,
    retiring: retiring.map((time) => new Date(time).toISOString()),
    replaces: webhook ? replacedBy(webhook.metadata.description) : undefined,
  };
}

function providerView({ metadata, created, last_modified }: Webhook) {
  const { name, description, webhook_url, events, site_ids } = metadata;
  return { name, description, webhook_url, events, site_ids, created, last_modified };
}

/**
 * The webhooks at the provider, and behind them those that are gone there and have a secret.
 * @param readStandings called after the provider was asked: one that is made meanwhile is not told of as gone
 * @throws ProviderError, and what `readStandings` throws
 */
export async function webhookViews(
  client: WebhooksClient,
  readStandings: () => Promise<Standings>,
): Promise<WebhookView[]> {
  const registered = await allWebhooks(client);
  const standings = await readStandings();
  const ids = new Set(registered.map(({ id }) => id));
  return [
    ...registered.map((webhook) => viewOf(webhook.id, webhook, standings)),
    ...standings.webhooks.filter((id) => !ids.has(id)).map((id) => viewOf(id, null, standings)),
  ];
}

/** The webhooks that have a secret, without asking the provider. */
export function storedViews(standings: Standings): WebhookView[] {
  return standings.webhooks.map((id) => viewOf(id, undefined, standings));
}
