import { Command } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { loadConfig } from '../../config.ts';
import { admitWaiting } from '../../receiver/admissions.ts';
import { retireSecrets } from '../../rotation/create-and-delete.ts';
import { withStore } from '../../store/with-store.ts';
import { print, say } from '../print.ts';
import { readSecret } from '../read-secret.ts';
import { warnIfPredictable } from './warn-if-predictable.ts';

interface Flags {
  readonly id: string;
  readonly secretFile?: string;
  readonly replace?: true;
  readonly json?: true;
}

const EXAMPLES = `
Examples:
  npx hookkit webhooks import --id 2yW4KmiG < secret.txt
  npx hookkit webhooks import --id 2yW4KmiG --secret-file secret.txt --replace`;

export function importCommand(): Command {
  return new Command('import')
    .description('Import the secret of an existing webhook, from a file or from stdin, and store it sealed.')
    .requiredOption('--id <webhook>', 'the id of the webhook')
    .option('--secret-file <file>', 'a file with the secret; without it, stdin')
    .option('--replace', 'retire every other secret of this webhook at once')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(importSecret);
}

async function importSecret({ id, secretFile, replace, json }: Flags): Promise<void> {
  const config = loadConfig();
  const secret = await readSecret(secretFile);
  warnIfPredictable(secret);
  await withStore(config, async (store) => {
    const before = await store.quarantineSize(id);
    await store.addSecret(id, secret);
    const retired =
      replace && (await retireSecrets(store, { id, at: systemClock.now(), kept: secret })).length;
    const here = await admitWaiting(store, config, id);
    const waiting = await store.quarantineSize(id);
    const admitted = Math.max(here, before - waiting); // a server that runs admits some of them
    if (waiting > 0)
      say(
        `${waiting} notifications of webhook ${id} stay in quarantine, as this secret verifies none of them: if they are genuine, it is another one`,
      );
    if (json)
      return print(JSON.stringify({ id, stored: true, ...(replace && { retired }), admitted, waiting }));
    const others = replace ? `; ${retired} others are retired` : '';
    await print(
      `the secret of webhook ${id} is stored; ${admitted} quarantined notifications admitted${others}`,
    );
  });
}
