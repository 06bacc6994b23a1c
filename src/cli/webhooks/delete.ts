import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { loadConfig } from '../../config.ts';
import { deleteWebhook } from '../../rotation/create-and-delete.ts';
import { readStandings } from '../../rotation/webhook-view.ts';
import { withDatabase } from '../../store/with-store.ts';
import { print, printJson, say } from '../print.ts';
import { webhooksClient } from './client.ts';
import { graceOption } from './webhook-options.ts';
import { endInWords, warningOfEnvironment } from './webhook-words.ts';

interface Flags {
  readonly grace: number;
  readonly json?: true;
}

const EXAMPLES = `
Notifications may still be on their way, so the secret verifies for the grace time. Run the command again after an error.

Examples:
  npx hookkit webhooks delete 2yW4KmiG
  npx hookkit webhooks delete 2yW4KmiG --grace 0s`;

export function deleteCommand(): Command {
  return new Command('delete')
    .description('Delete a webhook at the provider and retire its secret.')
    .argument('<id>', 'the id of the webhook')
    .addOption(graceOption())
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(remove);
}

async function remove(id: string, { grace, json }: Flags): Promise<void> {
  const config = loadConfig();
  const client = webhooksClient(config);
  await withDatabase(config, async (store) => {
    const options = { client, store, clock: systemClock, graceMs: grace };
    const { isDeleted: deleted, secretUntil: until } = await deleteWebhook(id, options);
    const standings = await readStandings(store, config);
    const warning = warningOfEnvironment(id, standings);
    if (warning !== undefined) say(warning);
    const secretUntil = until === undefined ? null : new Date(until).toISOString();
    if (json) return printJson({ id, deleted, secret_until: secretUntil });
    const first = deleted ? `webhook ${id} is deleted` : `webhook ${id} was gone at the provider already`;
    await print(`${first}; ${endInWords(id, { whose: 'its secret', until: secretUntil, standings })}`);
  });
}
