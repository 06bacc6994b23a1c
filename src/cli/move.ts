import type { Command } from 'commander';
import { KitError } from '../base/errors.ts';
import { DATABASE_URL } from '../base/url.ts';
import { moveDatabase } from '../store/move.ts';
import { changing } from './change.ts';
import { givenKey } from './input.ts';
import { configOf } from './options.ts';
import { printResult, progress, say, table } from './output.ts';

type Flags = { from: string; to: string; fromKeyFile?: string; json?: true };

export function addMove(program: Command): void {
  program
    .command('move')
    .description('Move everything of one database into another, once the receivers are stopped.')
    .requiredOption('--from <url>', 'the database to move', databaseUrl)
    .requiredOption('--to <url>', 'the database to move it to', databaseUrl)
    .option('--from-key-file <file>', 'a file with the SECRETS_KEY of the database of --from')
    .action(move);
}

const HAS_PASSWORD = /^postgres[^/]*\/\/[^@/]*:[^@/]*@|^postgres.*[?&]password=/;

/** @throws KitError INPUT_INVALID, which does not show what was given: it may have a password */
function databaseUrl(given: string): string {
  if (DATABASE_URL.test(given) && !HAS_PASSWORD.test(given)) return given;
  const forms = 'a database is sqlite:PATH, or postgres://USER@HOST:PORT/DATABASE';
  throw new KitError('INPUT_INVALID', `${forms}; its password goes into PGPASSWORD, as arguments are public`);
}

async function move(flags: Flags, command: Command): Promise<void> {
  const { from, to, fromKeyFile, json } = flags;
  const secretsKey = configOf(command).SECRETS_KEY;
  const fromKey = fromKeyFile === undefined ? undefined : await givenKey(fromKeyFile, 'the key of --from');
  const stage = progress('rows copied or compared');
  const onPage = (rows: number) => stage.show(rows, undefined);
  const moving = moveDatabase({ from, to, secretsKey, fromKey, onPage });
  const tables = await moving.finally(stage[Symbol.dispose]);
  const short = (checksum: string) => checksum.slice(0, 16);
  const moved = async () => tables.reduce((sum, { rows }) => sum + rows, 0);
  await changing(command, moved, { ...configOf(command), DATABASE_URL: to });
  const rows = tables.map((one) => [one.table, String(one.rows), short(one.from), short(one.to)]);
  await printResult(json, { tables }, table(['table', 'rows', 'checksum from', 'checksum to'], rows));
  say('moved, and equal on both sides: start the receivers with the database of --to as DATABASE_URL');
}
