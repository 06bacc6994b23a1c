import { Command } from 'commander';
import { sqlitePathOf } from '../../base/database-url.ts';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { withDatabase } from '../../store/with-store.ts';
import { print } from '../print.ts';
import { readKey } from '../read-key.ts';

interface Flags {
  readonly secretFile?: string;
  readonly json?: true;
}

const EXAMPLES = `
Without SECRETS_KEY, the command makes a new key and replaces the key file, or the file that it leads to as a link; a running
server notices.
With SECRETS_KEY, it reads the new key; start the server with that key afterwards.
Nothing that the old key opens is left in a SQLite file.

Examples:
  npx hookkit secrets rekey
  openssl rand -base64 32 > new-key.txt && npx hookkit secrets rekey --secret-file new-key.txt`;

export function rekeyCommand(): Command {
  return new Command('rekey')
    .description(
      'Rekey the database: seal all secrets of webhooks under a new key, in one step, while the server runs.',
    )
    .option('--secret-file <file>', 'a file with the new SECRETS_KEY; without it, stdin')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(rekey);
}

async function rekey({ secretFile, json }: Flags): Promise<void> {
  const config = loadConfig();
  const { DATABASE_URL: url, SECRETS_KEY: oldKey } = config;
  // A server has no key file: to open its database fails, and says that SECRETS_KEY is missing.
  const hasKeyFile = oldKey === undefined && sqlitePathOf(url) !== undefined;
  if (hasKeyFile && secretFile !== undefined) {
    throw new KitError(
      'INPUT_INVALID',
      'the key is in a file beside the database, and a new one is made there',
    );
  }
  const newKey = oldKey && (await readNewKey(secretFile, oldKey));
  await withDatabase(config, async (store) => {
    const sealed = await store.rekey(newKey);
    if (json) return print(JSON.stringify({ sealed }));
    const next = newKey
      ? 'now start the server with it as SECRETS_KEY'
      : 'the key file holds it: back that up, apart from the database';
    await print(`${sealed} secrets are sealed under the new key; ${next}`);
  });
}

async function readNewKey(file: string | undefined, oldKey: Buffer): Promise<Buffer> {
  const key = await readKey(file, 'the new key');
  if (key.equals(oldKey)) throw new KitError('INPUT_INVALID', 'the new key is the one that is in use');
  return key;
}
