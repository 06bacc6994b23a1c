import { type Command, Option } from 'commander';
import { KitError } from '../../base/errors.ts';
import { loadConfig } from '../../config.ts';
import { ENDS } from '../../replay/replay-to-handlers.ts';
import type { ReplayFlags } from '../options.ts';
import * as options from '../options.ts';

const HELP = `
Without --to, events are reset to pending, and the server handles them again; with --to, they are sent as the provider sends them, each
with a new signature. A report, --expect, --fail-on dead and --timeout wait until the events have ended: run a server, or give --run.
If you interrupt a replay, run it again; docs/replay.md says more.

Examples:
  npx hookkit events replay --kind channels --since 2026-11-19T12:00 --until 2026-11-19T18:00 --dry-run
  npx hookkit events replay --to http://127.0.0.1:3000/webhooks/media --from production.ndjson --as-new`;

const TO_HANDLERS = ['resetSteps', 'run', 'expect', 'failOn'];
const OVER_HTTP = ['from', 'secretFile', 'speed', 'shuffle', 'seed', 'duplicate', 'concurrency', 'asNew'];

export function addReplay(events: Command): void {
  options
    .withFilter(events.command('replay'))
    .description('Replay events: run their handlers again, or send them over HTTP.')
    .addOption(new Option('--all', 'replay every event of the database').conflicts(options.FILTER_FLAGS))
    .addOption(new Option('--dry-run', 'only count the events and show the first few').conflicts('report'))
    .option('--report <file>', 'write how each event ended (NDJSON, for `hookkit events compare`)')
    .option('--timeout <time>', 'wait so long for the ends; with --to, for an answer', options.duration)
    .option('--allow-empty', 'exit with 0 if no event matches; without it that is an error')
    .option('--json', 'print the result as JSON')
    .optionsGroup('To the handlers:')
    .option('--reset-steps', 'forget the results of ctx.once, so that every step runs again')
    .option('--run', 'run the handlers in this process; it takes every event that is ready')
    .addOption(new Option('--expect <status>', 'fail unless all events end like this').choices(ENDS))
    .addOption(
      new Option('--fail-on <status>', 'fail if an event ends like this (default when waiting: dead)')
        .choices(['dead', 'none'])
        .conflicts('expect'),
    )
    .optionsGroup('Over HTTP:')
    .addOption(
      new Option('--to <url>', 'send to this receiver').argParser(options.receiverUrl).conflicts(TO_HANDLERS),
    )
    .addOption(new Option('--from <file>', 'send this recording (-: stdin)').conflicts(['status', 'error']))
    .option('--secret-file <file>', 'sign with this secret (-: stdin) instead of that of the webhook')
    .option('--speed <factor>', 'keep the gaps, so many times faster (default: max)', options.speed)
    .option('--shuffle', 'send in random order; this holds all events in memory')
    .option('--seed <number>', 'the same seed gives the same shuffle and duplicates', options.wholeNumber())
    .option('--duplicate <probability>', 'send events twice with this probability', options.probability)
    .option('--concurrency <number>', 'send so many at once (default: 1)', options.wholeNumber(1))
    .option('--as-new', 'move event times, gaps kept, so that the newest is now')
    .addHelpText('after', HELP)
    .action(replay);
}

async function replay(flags: ReplayFlags, command: Command): Promise<void> {
  const filter = options.filterOf(flags);
  const firstOf = (names: readonly string[]) =>
    names.find((name) => command.getOptionValue(name) !== undefined);
  if (!flags.to && firstOf(OVER_HTTP))
    throw new KitError('INPUT_INVALID', 'an option of a replay over HTTP needs --to');
  const isMeant = flags.all || flags.dryRun || flags.from !== undefined || firstOf(options.FILTER_FLAGS);
  if (!isMeant) throw new KitError('INPUT_INVALID', 'this would replay everything: give a filter, or --all');
  const config = loadConfig();
  if (flags.to) {
    const { replayToReceiver } = await import('./replay-to-receiver.ts');
    return replayToReceiver(config, { flags, to: flags.to, filter });
  }
  const { replayToOurHandlers } = await import('./replay-to-handlers.ts');
  return replayToOurHandlers(config, { flags, filter });
}
