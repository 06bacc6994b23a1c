import { Command } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { sentBack } from '../../provider/index.ts';
import { keepingMark } from '../../rotation/successor-mark.ts';
import { viewOf } from '../../rotation/webhook-view.ts';
import { print, printJson } from '../print.ts';
import { webhooksClient } from './client.ts';
import { standingsOf } from './standings.ts';
import { type MetadataFlags, metadataOf, withMetadataOptions } from './webhook-options.ts';
import { inLines } from './webhook-words.ts';

interface Flags extends MetadataFlags {
  readonly json?: true;
}

const EXAMPLES = `
Settings that are not given stay as they are. --site and --event replace the whole list.

Examples:
  npx hookkit webhooks update 2yW4KmiG --url https://new.host/webhooks/media
  npx hookkit webhooks update 2yW4KmiG --site 9KboGBFu jsPxIVHl --all-events`;

export function updateCommand(): Command {
  return withMetadataOptions(
    new Command('update')
      .description('Update a webhook at the provider. Its secret stays the same.')
      .argument('<id>', 'the id of the webhook'),
  )
    .option('--json', 'print the webhook as JSON')
    .addHelpText('after', EXAMPLES)
    .action(update);
}

async function update(id: string, { json, ...flags }: Flags): Promise<void> {
  const config = loadConfig();
  const change = metadataOf(flags);
  if (Object.keys(change).length === 0) {
    throw new KitError(
      'INPUT_INVALID',
      'nothing to change: give --name, --url, --site, --event, --all-events or --description',
    );
  }
  const client = webhooksClient(config);
  const standings = await standingsOf(config); // before anything is changed, as it may fail
  const { metadata } = await client.get(id);
  const description = keepingMark(metadata.description, change.description);
  const webhook = await client.update(id, { ...sentBack(metadata), ...change, description });
  const view = viewOf(id, webhook, standings);
  if (json) return printJson(view);
  await print(inLines(view));
}
