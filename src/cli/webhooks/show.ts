import { KitError } from '../../base/errors.ts';
import { sqlitePathOf } from '../../base/url.ts';
import { type Config, loadConfig, settingsSource } from '../../config.ts';
import { kindNames } from '../../notification/kinds.ts';
import { ifThere, WebhooksClient } from '../../provider/index.ts';
import { unknownWebhook } from '../../rotation/create-and-delete.ts';
import {
  readStandings,
  type Standings,
  standingsFrom,
  viewOf,
  viewsOf,
  type WebhookView,
} from '../../rotation/webhook-view.ts';
import { hasDatabase, withDatabase } from '../../store/open.ts';
import { line, print, printJson, say, table, write } from '../output.ts';

export async function listWebhooks({ stored, json }: { stored?: true; json?: true }): Promise<void> {
  const config = loadConfig();
  // Asked first: a webhook that is made meanwhile is not told of as gone.
  const registered = stored ? undefined : await Array.fromAsync(webhooksClient(config).list());
  const read = () => withDatabase(config, (store) => readStandings(store, config));
  const views = viewsOf(await (stored ? read() : standingsOf(config)), registered);
  if (json) return printJson(views);
  if (views.length === 0)
    return print(stored ? 'no secret is stored' : 'no webhook is registered, and no secret is stored');
  const head = stored ? ['id', 'secret'] : ['id', 'name', 'url', 'sites', 'events', 'secret'];
  const rows = stored ? views.map((view) => [view.id, secretInWords(view)]) : views.map(rowOf);
  await write(table(head, rows));
}

function rowOf(view: WebhookView): string[] {
  const { id, provider } = view;
  const secret = secretInWords(view);
  if (!provider) return [id, '-', '-', '-', '-', secret];
  const { name, webhook_url, site_ids, events } = provider;
  return [id, name, webhook_url, site_ids.join(', ') || 'none', eventsInWords(events), secret];
}

export async function showWebhook(id: string, flags: { json?: true }): Promise<void> {
  const config = loadConfig();
  const client = webhooksClient(config);
  const standings = await standingsOf(config);
  const webhook = await ifThere(client.get(id));
  if (!webhook && !standings.webhooks.includes(id)) throw unknownWebhook(id);
  await printWebhook(viewOf(id, webhook ?? null, standings), flags);
}

/** Prints a webhook as lines of names and values, or as JSON. */
export async function printWebhook(view: WebhookView, { json }: { readonly json?: true }): Promise<void> {
  if (json) return printJson(view);
  const { id, provider } = view;
  const settings = provider && {
    name: provider.name,
    description: provider.description,
    url: provider.webhook_url,
    sites: provider.site_ids.join(', ') || 'none',
    events: eventsInWords(provider.events),
    created: provider.created,
    modified: provider.last_modified,
  };
  const members = Object.entries({ id, ...settings, secret: secretInWords(view) });
  for (const [name, value] of members) await print(`${name.padEnd(11)}  ${line(value)}`.trimEnd());
}

/**
 * The state of the secrets that are stored. Where there is no database there are none: it says so, and makes no database.
 * @throws KitError STORE_UNUSABLE
 */
export async function standingsOf(config: Config): Promise<Standings> {
  if (hasDatabase(config)) return withDatabase(config, (store) => readStandings(store, config));
  const path = line(sqlitePathOf(config.DATABASE_URL) ?? '');
  say(`no secret is stored here, as there is no database at ${path}: run this where the server runs?`);
  return standingsFrom(config);
}

/** Says how notifications of a webhook are verified, and what is wrong with it. */
function secretInWords(view: WebhookView): string {
  const { secret, live_secrets: live, retiring, provider, replaces } = view;
  const until = `retiring at ${retiring.join(', ')}`;
  const words = {
    live: live === 1 ? 'live' : `live (${live})`,
    retiring: until,
    missing: 'MISSING',
    environment: 'WEBHOOK_SECRET',
  }[secret];
  return [
    words,
    ...(secret === 'live' && retiring.length > 0 ? [`another ${until}`] : []),
    ...(provider === null ? ['gone at the provider'] : []),
    ...(replaces === undefined ? [] : [`half-way through replacing ${replaces}`]),
  ].join('; ');
}

/** The kinds, or `all` with their number. */
function eventsInWords(events: readonly string[]): string {
  const isAll = events.length === kindNames.length && kindNames.every((kind) => events.includes(kind));
  return isAll ? `all ${events.length}` : events.join(', ');
}

/**
 * The provider's webhooks API, as configured. Each wait for another attempt is printed to stderr.
 * @throws KitError CONFIG_INVALID without an API secret
 */
export function webhooksClient({ PROVIDER_BASE_URL, PROVIDER_API_SECRET }: Config): WebhooksClient {
  if (PROVIDER_API_SECRET === undefined)
    throw new KitError('CONFIG_INVALID', `PROVIDER_API_SECRET is not set: ${settingsSource()} has none`);
  return new WebhooksClient({
    baseUrl: PROVIDER_BASE_URL,
    apiSecret: PROVIDER_API_SECRET,
    onRetry: ({ operation, waitMs, reason }) =>
      say(`${operation}: ${reason}; trying again in ${Math.ceil(waitMs / 1000)} s`),
  });
}
