import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { isNotFound } from '../../provider/index.ts';
import { retireSecrets } from '../../rotation/retire-secrets.ts';
import { Standings } from '../../rotation/secret-standings.ts';
import { withStore } from '../../store/with-store.ts';
import { print, printJson, say } from '../print.ts';
import { webhooksClient } from './client.ts';
import { graceOption } from './webhook-options.ts';
import { endInWords, warningOfEnvironment } from './webhook-view.ts';

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
  await withStore(config, async (store) => {
    const deleted = await client.delete(id).then(
      () => true,
      (error) => {
        if (isNotFound(error)) return false;
        throw error;
      },
    );
    const until = await retireSecrets(id, { store, clock: systemClock, graceMs: grace });
    if (!deleted && until === undefined) {
      throw new KitError(
        'WEBHOOK_UNKNOWN',
        `the provider has no webhook ${id}, and no secret is stored for it: npx hookkit webhooks list shows all`,
      );
    }
    const standings = await Standings.read(store, config);
    const warning = warningOfEnvironment(id, standings);
    if (warning !== undefined) say(warning);
    const secretUntil = until === undefined ? null : new Date(until).toISOString();
    if (json) return printJson({ id, deleted, secret_until: secretUntil });
    const first = deleted ? `webhook ${id} is deleted` : `webhook ${id} was gone at the provider already`;
    await print(`${first}; ${endInWords(id, { whose: 'its secret', until: secretUntil, standings })}`);
  });
}
