import { type Command, InvalidArgumentError, Option } from 'commander';
import { isLoopback } from '../../base/request-origin.ts';
import { kindNames } from '../../notification/kinds.ts';
import { duration, receiverUrl } from '../options.ts';
import { createWebhook, importSecret, removeWebhook, rotateSecret, updateWebhook } from './change.ts';
import { listWebhooks, showWebhook } from './show.ts';

const LIST_HELP = `
The last column says how notifications of a webhook are verified:
  live            with a stored secret
  retiring        with a stored secret, until that time (after rotate or delete)
  WEBHOOK_SECRET  with the secret of the environment, as none was ever stored
  MISSING         not at all: they are refused, and wait in quarantine for webhooks import. WEBHOOK_SECRET does not serve a
                  webhook that ever had a stored secret
  gone at the provider: a secret is stored for a webhook that the provider does not have`;

const ROTATE_HELP = `
The provider cannot give a webhook a new secret, so a new webhook with another id replaces it. Meanwhile no notification is
refused, and none is handled twice. If the command is interrupted or fails, run it again: it continues from there.`;

/** The webhooks at the provider, and their secrets in the database. */
export function addWebhooks(program: Command): void {
  const webhooks = program
    .command('webhooks')
    .description('Manage webhooks at the provider, and the secrets that verify their notifications.')
    .addHelpText('after', '\nThe provider is at PROVIDER_BASE_URL and takes PROVIDER_API_SECRET.');
  const create = webhooks
    .command('create')
    .description('Create a webhook at the provider and store its secret, sealed. The secret is never shown.')
    .action(createWebhook);
  for (const option of metadataOptions())
    create.addOption(option.makeOptionMandatory(['name', 'url', 'site'].includes(option.name())));
  webhooks
    .command('import')
    .description('Import the secret of an existing webhook, from a file or from stdin, and store it sealed.')
    .requiredOption('--id <webhook>', 'the id of the webhook')
    .option('--secret-file <file>', 'a file with the secret; without it, stdin')
    .option('--replace', 'retire every other secret of this webhook at once')
    .action(importSecret);
  webhooks
    .command('list')
    .description('List the webhooks at the provider with the secrets that are stored here.')
    .option('--stored', 'list only the stored secrets, without asking the provider')
    .addHelpText('after', LIST_HELP)
    .action(listWebhooks);
  webhooks
    .command('show')
    .description('Show a webhook: its settings at the provider, and how its notifications are verified.')
    .argument('<id>', 'the id of the webhook')
    .action(showWebhook);
  const update = webhooks
    .command('update')
    .description('Update a webhook at the provider: only the given settings. Its secret stays the same.')
    .argument('<id>', 'the id of the webhook')
    .action(updateWebhook);
  for (const option of metadataOptions()) update.addOption(option);
  webhooks
    .command('rotate')
    .description('Rotate the secret of a webhook: replace the webhook by a new one, under traffic.')
    .argument('<id>', 'the id of the webhook')
    .addOption(graceOption())
    .addHelpText('after', ROTATE_HELP)
    .action(rotateSecret);
  webhooks
    .command('delete')
    .description('Delete a webhook at the provider and retire its secret. After an error, run it again.')
    .argument('<id>', 'the id of the webhook')
    .addOption(graceOption())
    .action(removeWebhook);
  for (const command of webhooks.commands) command.option('--json', 'print the result as JSON');
}

/** The options for the settings of a webhook. */
function metadataOptions(): readonly Option[] {
  return [
    new Option('--name <name>', 'a name for the webhook'),
    new Option('--url <url>', 'the URL that it sends to, by https').argParser(httpsUrl),
    new Option('--site <id...>', 'the sites (properties) whose notifications it sends'),
    new Option('--event <kind...>', 'the kinds that it sends').choices(kindNames).conflicts('allEvents'),
    new Option('--all-events', `all ${kindNames.length} kinds`),
    new Option('--description <text>', 'a description'),
  ];
}

function httpsUrl(text: string): string {
  const { protocol, hostname } = receiverUrl(text);
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, ''))) return text;
  throw new InvalidArgumentError('The provider takes https only (http on this machine, for the mock).');
}

function graceOption(): Option {
  return new Option('--grace <time>', 'how long its secret still verifies, for what is on its way')
    .argParser(duration)
    .default(600_000, '10m');
}
