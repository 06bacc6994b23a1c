import type { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import { sqlitePathOf } from '../base/url.ts';
import { keyPathOf } from '../store/secrets/vault.ts';
import { configOf } from './options.ts';
import { line, print, say } from './output.ts';

const ON_A_SERVER = 'on PostgreSQL, back up with pg_dump: docs/scaling.md has the command';

export function addBackup(program: Command): void {
  program
    .command('backup')
    .description('Back up the SQLite database while the receiver runs.')
    .argument('<file>', 'the file to write; it must not exist yet')
    .action(backup);
}

async function backup(file: string, _: object, command: Command): Promise<void> {
  const { DATABASE_URL, SECRETS_KEY } = configOf(command);
  const path = sqlitePathOf(DATABASE_URL);
  if (path === undefined) throw new KitError('INPUT_INVALID', ON_A_SERVER);
  const { backUp } = await import('../store/sqlite/connection.ts');
  const { events, bytes } = await backUp(path, file);
  await print(`${line(file)}: ${plural(events, 'event')}, ${bytes} bytes, checked`);
  if (!SECRETS_KEY) say(`the key is not in the backup: keep a copy of ${line(keyPathOf(path))} elsewhere`);
}
