import { Command } from 'commander';
import { keepHeapSmall } from '../base/bounded-heap.ts';
import { systemClock } from '../base/clock.ts';
import { databaseUrlOf } from '../base/database-url.ts';
import { KitError } from '../base/errors.ts';
import { roughly } from '../base/time-text.ts';
import { loadConfig } from '../config.ts';
import {
  type FollowedRound,
  moveDatabase,
  reopenDatabase,
  type Transferred,
} from '../store/transfer/move-database.ts';
import { listenerOnStderr } from './events/progress-bar.ts';
import { interruptible } from './interruptible.ts';
import { print, printJson, say, write } from './print.ts';
import { readKey } from './read-key.ts';
import { table } from './table.ts';
import { terminal } from './terminal.ts';

interface Flags {
  readonly from: string;
  readonly to?: string;
  readonly fromKeyFile?: string;
  readonly follow?: true;
  readonly reopen?: true;
  readonly json?: true;
}

const EXAMPLES = `
URLs are as in DATABASE_URL. A password comes from PGPASSWORD or the password file: everybody can read arguments.
The database of --to must be empty, or have an unfinished move from the same database: to go on, run the command again.
Its secrets are sealed under SECRETS_KEY, or under the key file beside it. Those of --from open with the key file beside that,
with SECRETS_KEY, or with --from-key-file. At the end, programs refuse the database of --from.

Examples:
  npx hookkit move --from sqlite:./data/receiver.db --to postgres://hookkit@db.example/hookkit
  npx hookkit move --from sqlite:./data/receiver.db --to postgres://hookkit@db.example/hookkit --follow
  npx hookkit move --from sqlite:./data/receiver.db --reopen`;

export function moveCommand(): Command {
  return new Command('move')
    .description(
      'Move everything of one database into another, between SQLite and PostgreSQL or within one of them.',
    )
    .requiredOption('--from <url>', 'the database to move')
    .option('--to <url>', 'the database to move it to')
    .option('--from-key-file <file>', 'a file with the SECRETS_KEY of the database of --from')
    .option('--follow', 'copy while receivers use it, and end once they have been stopped')
    .option('--reopen', 'instead, let programs use the database of --from again after a move')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXAMPLES)
    .action(move);
}

const urlOf = (given: string, option: string) => databaseUrlOf(given, { option, directory: terminal().cwd });

async function move({ from, to, fromKeyFile, follow, reopen: reopens, json }: Flags): Promise<void> {
  if ((to === undefined) !== (reopens === true))
    throw new KitError('INPUT_INVALID', 'give either --to or --reopen');
  if (to === undefined) return reopen(urlOf(from, '--from'), json === true);
  const urls = { from: urlOf(from, '--from'), to: urlOf(to, '--to') };
  const keys = {
    secretsKey: loadConfig().SECRETS_KEY,
    fromKey: fromKeyFile === undefined ? undefined : await readKey(fromKeyFile, 'the key of --from-key-file'),
  };
  keepHeapSmall();
  const listener = listenerOnStderr();
  const moved = await interruptible('run it again, and it goes on', async (signal) => {
    const stage = listener.begin('rows compared');
    try {
      return await moveDatabase({
        ...urls,
        ...keys,
        follows: follow === true,
        clock: systemClock,
        signal,
        isWatched: listener.isWatched,
        onPage: (rows, share) => stage.show(rows, share),
        onRound: tellRound,
      });
    } finally {
      stage.end();
    }
  });
  if (json) return printJson(asJson(moved));
  await write(tableOf(moved));
  say(
    `moved, and equal on both sides; the last round took ${seconds(moved.lastRoundMs)}: start the receivers with the database of --to as DATABASE_URL`,
  );
}

async function reopen(url: string, json: boolean): Promise<void> {
  const reopened = await reopenDatabase(url);
  if (json) return printJson({ reopened });
  await print(
    reopened
      ? 'reopened: programs may use it again; what the other database received since is not in it'
      : 'nothing was moved out of this database: programs may use it',
  );
}

function tellRound({ number, changed, ms }: FollowedRound): void {
  say(
    `round ${number}: ${changed} rows differed, ${seconds(ms)}; stop the receivers, and one more round like this ends the move`,
  );
}

function tableOf({ tables }: Transferred): string {
  return table(
    ['table', 'rows', 'checksum from', 'checksum to'],
    tables.map((one) => [one.table, String(one.rows), short(one.from), short(one.to)]),
  );
}

function short(checksum: string): string {
  return checksum.slice(0, 16);
}

function asJson({ tables, rounds, lastRoundMs }: Transferred): object {
  return { tables, rounds, last_round_ms: Math.round(lastRoundMs) };
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : roughly(Math.round(ms / 1000));
}
