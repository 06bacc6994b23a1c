import type { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { DATABASE_URL } from '../base/url.ts';
import { loadConfig } from '../config.ts';
import { moveDatabase } from '../store/move.ts';
import { readKey } from './input.ts';
import { interruptible } from './interruptible.ts';
import { printJson, progress, say, table, write } from './output.ts';

interface Flags {
  readonly from: string;
  readonly to: string;
  readonly fromKeyFile?: string;
  readonly json?: true;
}

const HELP = `
Stop the receivers first. URLs are as in DATABASE_URL; a password comes from PGPASSWORD or the password file. The database of --to must
be empty, or have what a move left that was cut off. Its secrets are sealed under SECRETS_KEY, or under the key file beside it. At the
end, programs refuse the database of --from.

Example:
  npx hookkit move --from sqlite:./data/receiver.db --to postgres://hookkit@db.example/hookkit`;

export function addMove(program: Command): void {
  program
    .command('move')
    .description('Move everything of one database into another: of SQLite, of PostgreSQL, or between them.')
    .requiredOption('--from <url>', 'the database to move', databaseUrl)
    .requiredOption('--to <url>', 'the database to move it to', databaseUrl)
    .option('--from-key-file <file>', 'a file with the SECRETS_KEY of the database of --from')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', HELP)
    .action(move);
}

const HAS_PASSWORD = /^postgres[^/]*\/\/[^@/]*:[^@/]*@|^postgres.*[?&]password=/;

/** @throws KitError INPUT_INVALID, which does not show what was given: it may have a password */
function databaseUrl(given: string): string {
  if (!DATABASE_URL.test(given))
    throw new KitError('INPUT_INVALID', 'a database is sqlite:PATH, or postgres://USER@HOST:PORT/DATABASE');
  if (HAS_PASSWORD.test(given))
    throw new KitError('INPUT_INVALID', 'arguments are public: leave the password out, and set PGPASSWORD');
  return given;
}

async function move({ from, to, fromKeyFile, json }: Flags): Promise<void> {
  const secretsKey = loadConfig().SECRETS_KEY;
  const fromKey = fromKeyFile === undefined ? undefined : await readKey(fromKeyFile, 'the key of --from');
  using stage = progress('rows copied or compared');
  const tables = await interruptible('run it again, and it begins again', (signal) =>
    moveDatabase({ from, to, secretsKey, fromKey, signal, onPage: (rows) => stage.show(rows, undefined) }),
  );
  if (json) return printJson({ tables });
  const short = (checksum: string) => checksum.slice(0, 16);
  const rows = tables.map((one) => [one.table, String(one.rows), short(one.from), short(one.to)]);
  await write(table(['table', 'rows', 'checksum from', 'checksum to'], rows));
  say('moved, and equal on both sides: start the receivers with the database of --to as DATABASE_URL');
}
