import { randomInt } from 'node:crypto';
import { Command, InvalidArgumentError, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { ENDS, type End } from '../../replay/await-ends.ts';
import { duration } from '../duration.ts';
import { say } from '../print.ts';
import { addFilterOptions, type FilterFlags, filterOf, isRestricted } from './filter-options.ts';
import { atLeastOne, probability, wholeNumber } from './numbers.ts';
import { receiverUrl } from './url.ts';

interface Flags extends FilterFlags {
  readonly all?: true;
  readonly dryRun?: true;
  readonly report?: string;
  readonly exact?: true;
  readonly json?: true;
  readonly resetSteps?: true;
  readonly run?: true;
  readonly wait?: number;
  readonly failOn?: 'dead' | 'none';
  readonly expect?: End;
  readonly allowEmpty?: true;
  readonly to?: URL;
  readonly from?: string;
  readonly secretFile?: string;
  readonly speed?: number;
  readonly shuffle?: true;
  readonly seed?: number;
  readonly duplicate?: number;
  readonly concurrency?: number;
  readonly asNew?: true;
  readonly timeout?: number;
}

const FOR_HANDLERS = ['resetSteps', 'run', 'wait', 'failOn', 'expect'] as const;
const FOR_SENDING = [
  'from',
  'secretFile',
  'speed',
  'shuffle',
  'seed',
  'duplicate',
  'concurrency',
  'asNew',
] as const;

const EXAMPLES = `
Without --to, events go back to pending, and the server takes them up within a second, or when it starts. Events that are
pending or running already are left as they are, and named. With --to, they are sent over HTTP as the provider would, signed afresh.

None runs before all are put back. Should this be killed in between, what it has put back is pending and runs by itself a
quarter of an hour later; the same filter takes it up again, unless it names another status: then --status pending does.

A report, --expect, --fail-on dead and --timeout need to know how each event ended. Without --to the command waits for that: a
server has to run, or give --run. What matches and is pending or running already is waited for as well.

Exits with 0 if all came out as asked for, with 1 if any did not or no event matches, and with 2 if it was called wrongly.
docs/replay.md has a table.

Examples:
  npx hookkit events replay --status dead --dry-run
  npx hookkit events replay --kind channels --since 2026-11-19T12:00 --until 2026-11-19T18:00
  npx hookkit events replay --all --run --report after.ndjson
  npx hookkit events replay --kind media --run --expect handled --timeout 10m
  npx hookkit events replay --to http://127.0.0.1:3000/webhooks/media --from production.ndjson --as-new
  npx hookkit events replay --to http://127.0.0.1:3000/webhooks/media --since 7d --speed 10 --concurrency 8`;

export function replayCommand(): Command {
  return addFilterOptions(new Command('replay'))
    .description('Run the handlers again for events, or send events over HTTP.')
    .option('--all', 'every event: needed where no filter is given and the database is replayed')
    .option('--dry-run', 'only count them and show the first few')
    .option('--report <file>', 'write how each event came out (NDJSON, for `hookkit events compare`)')
    .option(
      '--exact',
      'with --report: write reasons as they were recorded, with absolute paths, frames of Node, addresses, times and ids',
    )
    .option('--json', 'print the result as JSON')
    .option('--reset-steps', 'handlers: forget what ctx.once has done, so that every step runs again')
    .option('--run', 'handlers: run src/handlers/ in this process (whatever is ready), until all have ended')
    .addOption(
      new Option(
        '--fail-on <status>',
        'handlers: exit with 1 if any ends so (default wherever it waits: dead)',
      ).choices(['dead', 'none']),
    )
    .addOption(
      new Option('--expect <status>', 'handlers: wait, and exit with 1 unless all end so').choices(ENDS),
    )
    .addOption(new Option('--wait <time>', 'what --timeout is without --to').argParser(duration).hideHelp())
    .option('--to <url>', 'send to this receiver instead', receiverUrl)
    .option('--from <file>', 'with --to: send this recording (-: stdin) instead of the database')
    .option(
      '--secret-file <file>',
      'with --to: the secret to sign with (-: stdin). Without it, the one stored for the webhook, else WEBHOOK_SECRET',
    )
    .option(
      '--speed <factor>',
      'with --to: keep the recorded gaps, so many times faster, or max (default: max)',
      speed,
    )
    .option('--shuffle', 'with --to: in random order; holds all of them in memory')
    .option('--seed <number>', 'with --to: the same seed gives the same shuffle and duplicates', wholeNumber)
    .option('--duplicate <probability>', 'with --to: send so many of them twice, such as 0.1', probability)
    .option(
      '--concurrency <number>',
      'with --to: so many at once, those of one media or channel still one after the other; 1 keeps the recorded order ' +
        'to the letter (default: 1)',
      atLeastOne,
    )
    .option(
      '--as-new',
      'with --to: move event times, gaps kept, so that the newest is now and no receiver has seen them',
    )
    .option(
      '--timeout <time>',
      'how long to wait: until all have ended (default: as long as it takes); with --to, for each answer (default: 10s)',
      duration,
    )
    .option('--allow-empty', 'exit with 0 where no event matches; without it that is an error')
    .addHelpText('after', EXAMPLES)
    .action(replay);
}

async function replay(flags: Flags): Promise<void> {
  const filter = filterOf(flags);
  refuse(flags, flags.to ? FOR_HANDLERS : FOR_SENDING, flags.to ? 'cannot be given with --to' : 'needs --to');
  if (flags.all && isRestricted(filter))
    throw new KitError('INPUT_INVALID', '--all and a filter contradict each other: give one of them');
  if (!flags.all && !flags.dryRun && flags.from === undefined && !isRestricted(filter))
    throw new KitError('INPUT_INVALID', 'this would replay everything: give a filter, or --all to mean that');
  if (flags.dryRun && flags.report !== undefined)
    throw new KitError('INPUT_INVALID', '--dry-run replays nothing to report on: leave --report out');
  if (flags.exact && flags.report === undefined)
    throw new KitError('INPUT_INVALID', '--exact is for --report: give both');
  if (flags.wait !== undefined && flags.timeout !== undefined)
    throw new KitError('INPUT_INVALID', '--wait and --timeout are the same: give one of them');
  const config = loadConfig();
  if (!flags.to) {
    const { replayToHandlers } = await import('../../replay/replay-to-handlers.ts');
    const { timeout = flags.wait } = flags;
    return replayToHandlers(config, { ...flags, filter, ...(timeout !== undefined && { timeout }) });
  }
  if (flags.from !== undefined && flags.status !== undefined)
    throw new KitError('INPUT_INVALID', '--status is of the database: a recording has none');
  if (flags.from === '-' && flags.secretFile === '-')
    throw new KitError('INPUT_INVALID', 'stdin cannot be both the recording and the secret');
  const isRandom = flags.shuffle === true || (flags.duplicate ?? 0) > 0;
  const seed = flags.seed ?? randomInt(2 ** 31);
  if (isRandom && flags.seed === undefined) say(`--seed ${seed} does the same again`);
  const { replayOverHttp } = await import('../../replay/replay-over-http.ts'); // what sends is not loaded for what does not
  return replayOverHttp(config, {
    to: flags.to,
    filter,
    from: flags.from,
    secretFile: flags.secretFile,
    speed: flags.speed ?? Infinity,
    shuffle: flags.shuffle === true,
    seed,
    duplicate: flags.duplicate ?? 0,
    concurrency: flags.concurrency ?? 1,
    asNew: flags.asNew === true,
    timeoutMs: flags.timeout ?? 10_000,
    dryRun: flags.dryRun === true,
    allowEmpty: flags.allowEmpty === true,
    report: flags.report,
    reasons: flags.exact ? 'exact' : 'portable',
    json: flags.json === true,
  });
}

function refuse(flags: Flags, names: readonly (keyof Flags)[], why: string): void {
  const given = names.find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  const option = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new KitError('INPUT_INVALID', `--${option} ${why}`);
}

function speed(text: string): number {
  if (text === 'max') return Infinity;
  const number = /^\d{1,6}(\.\d{1,6})?$/.test(text) ? Number(text) : 0;
  if (number > 0) return number;
  throw new InvalidArgumentError('It must be a factor such as 1, 10 or 0.5, or max.');
}
