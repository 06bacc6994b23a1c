import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import { createWebhook } from '../../rotation/create-and-delete.ts';
import { withStore } from '../../store/with-store.ts';
import { uninterrupted } from '../interruptible.ts';
import { print, printJson } from '../print.ts';
import { webhooksClient } from './client.ts';
import { warnOfPredictable } from './warn-if-predictable.ts';
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
    const { id } = await uninterrupted(() => createWebhook(webhook, { client, store }));
    await warnOfPredictable(store, id);
    // Notifications that came between the creation and the storing are in quarantine.
    const admitted = await admitWaiting(store, config, id);
    if (json) return printJson({ id, ...webhook, secret: 'live', admitted });
    await print(`webhook ${id} is registered, and its secret is stored`);
  });
}
