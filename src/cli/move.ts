import { Command } from 'commander';
import { DATABASE_URL, databaseUrlFrom } from '../base/database-url.ts';
import { KitError } from '../base/errors.ts';
import { loadConfig } from '../config.ts';
import { type MovedTable, moveDatabase } from '../store/move.ts';
import { listenerOnStderr } from './events/progress-bar.ts';
import { interruptible } from './interruptible.ts';
import { printJson, say, write } from './print.ts';
import { readKey } from './read-key.ts';
import { table } from './table.ts';
import { terminal } from './terminal.ts';

interface Flags {
  readonly from: string;
  readonly to: string;
  readonly fromKeyFile?: string;
  readonly json?: true;
}

const EXAMPLES = `
Stop the receivers first. URLs are as in DATABASE_URL. A password comes from PGPASSWORD or the password file: everybody can read
arguments. The database of --to must be empty, or have what a move left that was cut off: that is removed, and the move begins again.
Its secrets are sealed under SECRETS_KEY, or under the key file beside it. Those of --from open with the key file beside that,
with SECRETS_KEY, or with --from-key-file. At the end, programs refuse the database of --from.

Example:
  npx hookkit move --from sqlite:./data/receiver.db --to postgres://hookkit@db.example/hookkit`;

export function moveCommand(): Command {
  return new Command('move')
    .description(
      'Move everything of one database into another, between SQLite and PostgreSQL or within one of them.',
    )
    .requiredOption('--from <url>', 'the database to move')
    .requiredOption('--to <url>', 'the database to move it to')
    .option('--from-key-file <file>', 'a file with the SECRETS_KEY of the database of --from')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(move);
}

/** The database that an option names. @throws KitError INPUT_INVALID, which does not show what was given: it may have a password */
function urlOf(given: string, option: string): string {
  if (!DATABASE_URL.test(given)) {
    throw new KitError(
      'INPUT_INVALID',
      `${option} takes sqlite:PATH, or postgres://USER@HOST:PORT/DATABASE (the given value is not shown)`,
    );
  }
  if (/^postgres[^/]*\/\/[^@/]*:[^@/]*@|^postgres.*[?&]password=/.test(given)) {
    throw new KitError(
      'INPUT_INVALID',
      `the URL of ${option} has a password, which a list of processes shows: leave it out, and set PGPASSWORD or a password file`,
    );
  }
  return databaseUrlFrom(terminal().cwd, given);
}

async function move({ from, to, fromKeyFile, json }: Flags): Promise<void> {
  const urls = { from: urlOf(from, '--from'), to: urlOf(to, '--to') };
  const keys = {
    secretsKey: loadConfig().SECRETS_KEY,
    fromKey: fromKeyFile === undefined ? undefined : await readKey(fromKeyFile, 'the key of --from-key-file'),
  };
  const tables = await interruptible('run it again, and it begins again', async (signal) => {
    const stage = listenerOnStderr().begin('rows copied or compared');
    try {
      return await moveDatabase({ ...urls, ...keys, signal, onPage: (rows) => stage.show(rows, undefined) });
    } finally {
      stage.end();
    }
  });
  if (json) return printJson({ tables });
  await write(tableOf(tables));
  say('moved, and equal on both sides: start the receivers with the database of --to as DATABASE_URL');
}

function tableOf(tables: readonly MovedTable[]): string {
  return table(
    ['table', 'rows', 'checksum from', 'checksum to'],
    tables.map((one) => [one.table, String(one.rows), short(one.from), short(one.to)]),
  );
}

function short(checksum: string): string {
  return checksum.slice(0, 16);
}
