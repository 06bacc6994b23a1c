import { Command } from 'commander';
import { KitError, messageOf } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import type { CreatedWebhook, WebhooksClient } from '../../provider/index.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import type { EventStore } from '../../store/event-store.ts';
import { withStore } from '../../store/with-store.ts';
import { uninterrupted } from '../interruptible.ts';
import { print, printJson } from '../print.ts';
import { webhooksClient } from './client.ts';
import { type MetadataFlags, newWebhookOf, withMetadataOptions } from './webhook-options.ts';

const EXAMPLES = `
Examples:
  npx hookkit webhooks create --name main --url https://your.host/webhooks/media --site 9KboGBFu --all-events
  npx hookkit webhooks create --name live --url https://your.host/webhooks/media --site 9KboGBFu jsPxIVHl \\
    --event channel_active channel_idle --json`;

interface Flags extends MetadataFlags {
  readonly json?: true;
}

export function createCommand(): Command {
  return withMetadataOptions(
    new Command('create').description(
      'Create a webhook at the provider and store its secret, sealed. The secret is never shown.',
    ),
  )
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(create);
}

async function create({ json, ...flags }: Flags): Promise<void> {
  const config = loadConfig();
  const webhook = newWebhookOf(flags);
  const client = webhooksClient(config);
  // Opened first, so that an unusable store shows before anything is registered.
  await withStore(config, async (store) => {
    const { id } = await uninterrupted(async () => {
      const created = await client.create(webhook);
      await keepOrDelete(created, { client, store });
      return created;
    });
    // Notifications that came between the creation and the storing are in quarantine.
    const admitted = await admitWaiting(store, { fallback: config.WEBHOOK_SECRET, webhook: id });
    if (json) return printJson({ id, ...webhook, secret: 'live', admitted });
    await print(`webhook ${id} is registered, and its secret is stored`);
  });
}

/**
 * Stores the secret of a new webhook. If that fails, it deletes the webhook: nothing could ever verify its notifications.
 * @throws KitError SECRET_NOT_STORED
 */
async function keepOrDelete(
  { id, secret }: CreatedWebhook,
  { client, store }: { readonly client: WebhooksClient; readonly store: EventStore },
): Promise<void> {
  try {
    await store.addSecret(id, secret);
  } catch (cause) {
    const problem = `the secret of the new webhook ${id} could not be stored (${messageOf(cause)})`;
    await client.delete(id).catch((error) => {
      const next = `and it could not be deleted again (${messageOf(error)}): run npx hookkit webhooks delete ${id}`;
      throw new KitError('SECRET_NOT_STORED', `${problem}, ${next}`, { cause });
    });
    throw new KitError(
      'SECRET_NOT_STORED',
      `${problem}, so it was deleted again: remove the cause, then try again`,
      {
        cause,
      },
    );
  }
}
