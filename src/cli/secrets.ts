import type { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { sqlitePathOf } from '../base/url.ts';
import { changing } from './change.ts';
import { givenKey } from './input.ts';
import { configOf } from './options.ts';
import { printResult } from './output.ts';

export function addSecrets(program: Command): void {
  const secrets = program.command('secrets').description('Rekey the secrets of webhooks in the database.');
  secrets
    .command('rekey')
    .description('Rekey the database: seal all secrets under a new key at once, while receivers run.')
    .option('--secret-file <file>', 'a file with the new SECRETS_KEY; without it, stdin')
    .action(rekey);
}

async function rekey({ secretFile, json }: { secretFile?: string; json?: true }, command: Command) {
  const config = configOf(command);
  const { SECRETS_KEY: oldKey } = config;
  // A server has no key file: to open its database fails, and says that SECRETS_KEY is missing.
  const hasKeyFile = oldKey === undefined && sqlitePathOf(config.DATABASE_URL) !== undefined;
  if (hasKeyFile && secretFile !== undefined)
    throw new KitError('INPUT_INVALID', 'the key file gets a new key by itself: leave --secret-file out');
  const newKey = oldKey && (await givenKey(secretFile, 'the new key'));
  if (oldKey && newKey?.equals(oldKey))
    throw new KitError('INPUT_INVALID', 'the new key is the one that is in use: make another one');
  const sealed = await changing(command, ({ secrets }) => secrets.rekey(newKey));
  const next = newKey
    ? 'now start every receiver with it as SECRETS_KEY'
    : 'the key file holds it: back that up, apart from the database';
  const text = `${plural(sealed, 'secret is', 'secrets are')} sealed under the new key; ${next}`;
  await printResult(json, { sealed }, text);
}
