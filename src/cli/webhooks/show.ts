import { Command } from 'commander';
import { loadConfig } from '../../config.ts';
import { findWebhook } from '../../provider/index.ts';
import { unknownWebhook } from '../../rotation/create-and-delete.ts';
import { viewOf } from '../../rotation/webhook-view.ts';
import { print, printJson } from '../print.ts';
import { webhooksClient } from './client.ts';
import { standingsOf } from './standings.ts';
import { inLines } from './webhook-words.ts';

export function showCommand(): Command {
  return new Command('show')
    .description('Show a webhook: its settings at the provider, and how its notifications are verified.')
    .argument('<id>', 'the id of the webhook')
    .option('--json', 'print it as JSON')
    .addHelpText('after', '\nExample:\n  npx hookkit webhooks show 2yW4KmiG')
    .action(show);
}

async function show(id: string, { json }: { readonly json?: true }): Promise<void> {
  const config = loadConfig();
  const client = webhooksClient(config);
  const standings = await standingsOf(config);
  const webhook = await findWebhook(client, id);
  if (!webhook && !standings.webhooks.includes(id)) throw unknownWebhook(id);
  const view = viewOf(id, webhook ?? null, standings);
  if (json) return printJson(view);
  await print(inLines(view));
}
