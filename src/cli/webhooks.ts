import { Command } from 'commander';
import { pino } from 'pino';
import { systemClock } from '../clock.ts';
import { loadConfig } from '../config.ts';
import { Keyring } from '../receiver/keyring.ts';
import { admitQuarantined } from '../receiver/quarantine.ts';
import { openStore } from '../store/open.ts';
import { readSecret } from './read-secret.ts';

interface ImportOptions {
  readonly id: string;
  readonly secretFile?: string;
  readonly json?: true;
}

export function webhooksCommand(): Command {
  return new Command('webhooks')
    .description('The webhooks whose notifications are verified.')
    .addCommand(
      new Command('import')
        .description(
          'Store the secret of a webhook that exists, sealed. It is read from a file or from stdin.',
        )
        .requiredOption('--id <webhook>', 'the id of the webhook')
        .option('--secret-file <file>', 'where the secret is; without it, stdin')
        .option('--json', 'print the result as JSON')
        .addHelpText('after', '\nExample:\n  npx hookkit webhooks import --id 2yW4KmiG < secret.txt')
        .action(importSecret),
    );
}

async function importSecret({ id, secretFile, json }: ImportOptions): Promise<void> {
  const config = loadConfig();
  const secret = await readSecret(secretFile);
  const clock = systemClock;
  const store = await openStore({ url: config.DATABASE_URL, clock, secretsKey: config.SECRETS_KEY });
  try {
    await store.addSecret(id, secret);
    const keyring = new Keyring({ store, clock, fallback: config.WEBHOOK_SECRET });
    await keyring.refresh();
    const admitted = await admitQuarantined({ store, keyring, log: pino({ level: 'silent' }) });
    const text = `the secret of webhook ${id} is stored; ${admitted} quarantined notifications admitted`;
    process.stdout.write(`${json ? JSON.stringify({ id, stored: true, admitted }) : text}\n`);
  } finally {
    await store.close();
  }
}
