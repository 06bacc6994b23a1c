import { type Command, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { isSeededInPublic } from '../base/seeded-random.ts';
import { plural } from '../base/text.ts';
import { sqlitePathOf } from '../base/url.ts';
import type { Config } from '../config.ts';
import { type Kind, kindNames } from '../notification/kinds.ts';
import { ifThere, sentBack, WebhooksClient } from '../provider/index.ts';
import { admitWaiting } from '../receiver/quarantine.ts';
import * as registering from '../rotation/create-and-delete.ts';
import { keepingMark, rotate } from '../rotation/rotate.ts';
import * as views from '../rotation/webhook-view.ts';
import { hasDatabase, withDatabase, withStore } from '../store/open.ts';
import { isoOrNull } from '../store/queue/lists/event-json.ts';
import { change, changing } from './change.ts';
import { readSecret } from './input.ts';
import { interruptible, onInterrupt } from './interruptible.ts';
import { configOf, lengthOfTime, receiverUrl } from './options.ts';
import { line, members, printResult, say, table } from './output.ts';

/** The webhooks at the provider, and their secrets in the database. */
export function addWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('Manage webhooks at the provider, and the secrets that verify their notifications.')
    .addHelpText('after', '\nThe provider is at PROVIDER_BASE_URL and takes PROVIDER_API_SECRET.');
  withSettings(webhooks.command('create'), { isNew: true })
    .description('Create a webhook at the provider and store its secret, sealed. The secret is never shown.')
    .action(createWebhook);
  webhooks
    .command('import')
    .description('Import the secret of an existing webhook, from a file or from stdin, and store it sealed.')
    .requiredOption('--id <webhook>', 'the id of the webhook')
    .option('--secret-file <file>', 'a file with the secret; without it, stdin')
    .option('--replace', 'retire every other secret of this webhook, once --grace is over')
    .addOption(graceOption().implies({ replace: true }))
    .addOption(new Option('--now', 'replace them at once').conflicts('grace').implies({ replace: true }))
    .action(importSecret);
  webhooks
    .command('list')
    .description('List the webhooks at the provider with the secrets that are stored here.')
    .option('--stored', 'list only the stored secrets, without asking the provider')
    .action(listWebhooks);
  webhooks
    .command('show <id>')
    .description('Show a webhook: its settings at the provider, and how its notifications are verified.')
    .action(showWebhook);
  withSettings(webhooks.command('update <id>'), { isNew: false })
    .description('Update a webhook at the provider: only the given settings. Its secret stays the same.')
    .action(updateWebhook);
  webhooks
    .command('rotate <id>')
    .description('Rotate the secret of a webhook: a new one replaces it. After an error, run it again.')
    .addOption(graceOption())
    .action(rotateSecret);
  webhooks
    .command('delete <id>')
    .description('Delete a webhook at the provider and retire its secret. After an error, run it again.')
    .addOption(graceOption())
    .action(removeWebhook);
}

/** Adds the options for the settings of a webhook. */
function withSettings(command: Command, { isNew }: { readonly isNew: boolean }): Command {
  const needed = (flags: string, what: string) => new Option(flags, what).makeOptionMandatory(isNew);
  return command
    .addOption(needed('--name <name>', 'a name for the webhook'))
    .addOption(
      needed('--url <url>', 'the URL that it sends to: https, or http for a mock').argParser(receiverUrl),
    )
    .addOption(needed('--site <id...>', 'the sites (properties) whose notifications it sends'))
    .addOption(new Option('--event <kind...>', 'the kinds').choices(kindNames).conflicts('allEvents'))
    .option('--all-events', `all ${kindNames.length} kinds`)
    .option('--description <text>', 'a description');
}

function graceOption(): Option {
  return new Option('--grace <time>', 'how long an old secret still verifies, for notifications on their way')
    .argParser(lengthOfTime)
    .default(600_000, '10m');
}

type Metadata = Partial<Record<'name' | 'description', string>> &
  Partial<Record<'allEvents' | 'json', true>> & { url?: URL; site?: string[]; event?: Kind[] };

/** The settings that are given. */
function metadataOf({ name, url, site, event, allEvents, description }: Metadata) {
  const events = allEvents ? kindNames : event;
  return {
    ...(name !== undefined && { name }),
    ...(url !== undefined && { webhook_url: url.href }),
    ...(site && { site_ids: [...new Set(site)] }),
    ...(events && { events: [...new Set(events)] }),
    ...(description !== undefined && { description }),
  };
}

async function createWebhook(flags: Metadata & { name: string; url: URL }, command: Command) {
  const { name, url } = flags;
  const { site_ids = [], events, ...rest } = metadataOf(flags);
  if (!events) throw new KitError('INPUT_INVALID', 'a new webhook needs --event or --all-events as well');
  const webhook = { ...rest, name, webhook_url: url.href, site_ids, events };
  const config = configOf(command);
  const client = webhooksClient(config);
  // Opened first, so that an unusable store shows before anything is registered.
  await withStore(config, async (store) => {
    // Half-done, this would leave a webhook whose secret nobody has.
    const release = onInterrupt(() => say('this step must not stay half-done: ending in a moment'));
    const check = (secret: string) => refuseSeeded(secret, config);
    const create = () => registering.createWebhook(webhook, { client, store, check });
    const { id } = await change(store, command, create).finally(release);
    // Notifications that came between the creation and the storing are in quarantine.
    const admitted = await admitWaiting(store, config, id);
    const text = `webhook ${id} is registered, and its secret is stored`;
    await printResult(flags.json, { id, ...webhook, secret: 'live', admitted }, text);
  });
}

async function updateWebhook(id: string, flags: Metadata, command: Command): Promise<void> {
  const changed = metadataOf(flags);
  if (Object.keys(changed).length === 0)
    throw new KitError('INPUT_INVALID', 'nothing to change: give an option with a new value');
  const config = configOf(command);
  const client = webhooksClient(config);
  const { metadata } = await client.get(id);
  const description = keepingMark(metadata.description, changed.description);
  const update = () => client.update(id, { ...sentBack(metadata), ...changed, description });
  const webhook = await (hasDatabase(config) ? changing(command, update) : update());
  const provider = views.providerView(webhook);
  await printResult(flags.json, { id, provider }, members({ id, ...provider }));
}

/** @throws KitError INPUT_INVALID if the receiver would verify nothing with this secret */
function refuseSeeded(secret: string, config: Config): void {
  if (!isSeededInPublic(secret, config)) return;
  const problem = 'the secret begins with mock-, so anybody can compute it, and it verifies nothing here';
  const advice =
    'give the one of the provider; with the mock on this machine, set HOST=127.0.0.1 and no TRUST_PROXY';
  throw new KitError('INPUT_INVALID', `${problem}: ${advice}`);
}

/** `grace`: how long a secret still verifies, in milliseconds */
type Retirement = { grace: number; json?: true };
type Import = Retirement & { id: string; secretFile?: string; replace?: true; now?: true };

async function importSecret({ id, secretFile, replace, grace, now, json }: Import, command: Command) {
  const config = configOf(command);
  const secret = await readSecret(secretFile);
  refuseSeeded(secret, config);
  await withStore(config, async (store) => {
    const before = await store.quarantine.size({ webhook: id });
    const at = systemClock.now() + (now ? 0 : grace);
    const ends = await change(store, command, async () => {
      await store.secrets.add(id, secret);
      return replace ? registering.retireSecrets(store, { id, at, kept: secret }) : [];
    });
    const here = await admitWaiting(store, config, id);
    const waiting = await store.quarantine.size({ webhook: id });
    const admitted = Math.max(here, before - waiting); // a server that runs admits some of them
    if (waiting > 0)
      say(`still in quarantine, as this secret does not verify them: ${plural(waiting, 'notification')}`);
    const retired = { retired: ends.length, others_until: isoOrNull(ends.at(-1)) };
    const replaced = `\nsecrets that it replaces: ${ends.length}, which verify until ${retired.others_until}`;
    const text = `the secret of webhook ${id} is stored; ${plural(admitted, 'notification')} admitted`;
    const value = { id, stored: true, ...(replace && retired), admitted, waiting };
    await printResult(json, value, ends.length > 0 ? text + replaced : text);
  });
}

async function rotateSecret(id: string, { grace: graceMs, json }: Retirement, command: Command) {
  const config = configOf(command);
  const client = webhooksClient(config);
  await withDatabase(config, async (store) => {
    const rotated = await interruptible('run it again, and it continues from here', (signal) =>
      change(store, command, () =>
        rotate(id, { client, store, clock: systemClock, graceMs, signal, onStep: say }),
      ),
    );
    const until = isoOrNull(rotated.oldSecretUntil);
    const end = endInWords(id, until, await views.readStandings(store, config));
    const what = rotated.id === undefined ? 'was replaced already' : `is replaced by ${rotated.id}`;
    const value = { id: rotated.id ?? null, replaced: id, old_secret_until: until };
    await printResult(json, value, `webhook ${id} ${what}; the old secret ${end}`);
  });
}

async function removeWebhook(id: string, { grace: graceMs, json }: Retirement, command: Command) {
  const config = configOf(command);
  const client = webhooksClient(config);
  await withDatabase(config, async (store) => {
    const deleted = await change(store, command, () =>
      registering.deleteWebhook(id, { client, store, clock: systemClock, graceMs }),
    );
    const until = isoOrNull(deleted.secretUntil);
    const end = endInWords(id, until, await views.readStandings(store, config));
    const what = deleted.isDeleted ? 'is deleted' : 'was gone at the provider already';
    const value = { id, deleted: deleted.isDeleted, secret_until: until };
    await printResult(json, value, `webhook ${id} ${what}; its secret ${end}`);
  });
}

/**
 * How the secret of a webhook ends that was deleted or replaced. Warns where WEBHOOK_SECRET goes on verifying.
 * @param until when the last stored secret retires; null if none is live
 */
function endInWords(id: string, until: string | null, standings: views.Standings): string {
  const { state, hadOwn } = standings.of(id);
  if (state === 'environment')
    say(`WEBHOOK_SECRET still verifies for ${id}: remove it from the environment once ${id} sends nothing`);
  if (until !== null) return `verifies until ${until}`;
  return hadOwn ? 'verifies nothing any more' : 'was never stored';
}

async function listWebhooks({ stored, json }: { stored?: true; json?: true }, command: Command) {
  const config = configOf(command);
  // The provider is asked first, so that a webhook made meanwhile does not seem gone.
  const registered = stored ? undefined : await Array.fromAsync(webhooksClient(config).list());
  const shown = views.viewsOf(await standingsOf(config), registered);
  const rows = shown.map((view) => [view.id, ...settingsOf(view), secretInWords(view)]);
  const head = ['id', 'name', 'url', 'sites', 'events', 'secret'];
  const nothing = stored ? 'no secret is stored' : 'no webhook, and no stored secret';
  await printResult(json, shown, rows.length > 0 ? table(head, rows) : nothing);
}

function settingsOf({ provider }: views.WebhookView): string[] {
  if (!provider) return ['-', '-', '-', '-'];
  const { name, webhook_url, site_ids, events } = provider;
  const isAll = kindNames.every((kind) => events.includes(kind));
  const kinds = isAll ? `all ${events.length}` : events.join(', ');
  return [name, webhook_url, site_ids.join(', ') || 'none', kinds];
}

async function showWebhook(id: string, { json }: { json?: true }, command: Command): Promise<void> {
  const config = configOf(command);
  const standings = await standingsOf(config);
  const webhook = await ifThere(webhooksClient(config).get(id));
  if (!webhook && !standings.webhooks.includes(id)) throw registering.unknownWebhook(id);
  const view = views.viewOf(id, webhook ?? null, standings);
  await printResult(json, view, members({ id, ...view.provider, secret: secretInWords(view) }));
}

/**
 * The state of the secrets that are stored. Where there is no database there are none: it says so, and makes no database.
 * @throws KitError STORE_UNUSABLE
 */
async function standingsOf(config: Config): Promise<views.Standings> {
  if (hasDatabase(config)) return withDatabase(config, (store) => views.readStandings(store, config));
  const path = line(sqlitePathOf(config.DATABASE_URL) ?? '');
  say(`no secret is stored here, as there is no database at ${path}: run this where the receiver runs`);
  return views.standingsFrom(config);
}

/** Says how notifications of a webhook are verified, and what is wrong with it. */
function secretInWords(view: views.WebhookView): string {
  const { secret, live_secrets: live, retiring, provider, replaces } = view;
  const parts = [
    live > 0 && (live === 1 ? 'live' : `live (${live})`),
    retiring.length > 0 && `${live > 0 ? 'another ' : ''}retiring at ${retiring.join(', ')}`,
    secret === 'missing' && 'MISSING',
    secret === 'environment' && 'WEBHOOK_SECRET',
    provider === null && 'gone at the provider',
    replaces !== undefined && `half-way through replacing ${replaces}`,
  ];
  return parts.filter((part) => part !== false).join('; ');
}

/**
 * The provider's webhooks API, as configured. Each wait for another attempt is printed to stderr.
 * @throws KitError CONFIG_INVALID without an API secret
 */
function webhooksClient({ PROVIDER_BASE_URL, PROVIDER_API_SECRET, readFrom }: Config): WebhooksClient {
  if (PROVIDER_API_SECRET === undefined)
    throw new KitError('CONFIG_INVALID', `PROVIDER_API_SECRET is not set: ${readFrom} has none`);
  return new WebhooksClient({
    baseUrl: PROVIDER_BASE_URL,
    apiSecret: PROVIDER_API_SECRET,
    onRetry: ({ operation, waitMs, reason }) =>
      say(`${operation}: ${reason}; trying again in ${Math.ceil(waitMs / 1000)} s`),
  });
}
