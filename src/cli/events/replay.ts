import { randomInt } from 'node:crypto';
import { type Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { plural } from '../../base/text.ts';
import type { Config } from '../../config.ts';
import { ENDS } from '../../replay/recording-lines.ts';
import * as toHandlers from '../../replay/replay-to-handlers.ts';
import type { Reshaping } from '../../replay/reshape.ts';
import { databaseSource, recordingSource } from '../../replay/sources.ts';
import type { EventFilter, EventStore, StoreReader } from '../../store/event-store.ts';
import { withDatabase, withReader } from '../../store/open.ts';
import { bulkFilter } from '../../store/queue/lists/search.ts';
import { change } from '../change.ts';
import { interruptible } from '../interruptible.ts';
import * as options from '../options.ts';
import { line, onStderr, printResult, say, table } from '../output.ts';
import { signingKeys } from './send.ts';

type Switches = Partial<Record<'all' | 'dryRun' | 'json' | 'allowEmpty' | 'resetSteps' | 'run', true>>;

interface Flags extends options.FilterFlags, Reshaping, toHandlers.Expectation, Switches {
  readonly timeout?: number;
  readonly to?: URL;
  readonly from?: string;
  readonly secretFile?: string;
  readonly concurrency?: number;
}

const HANDLED_ANYWAY = 'pending or running, and will be handled anyway';
const TO_HANDLERS = ['subscriber', 'waiting', 'dryRun', 'resetSteps', 'run', 'expect', 'failOn'];
const OVER_HTTP = ['from', 'secretFile', 'speed', 'shuffle', 'seed', 'duplicate', 'concurrency', 'asNew'];

export function addReplay(events: Command): void {
  const failOnHelp = 'fail if an event ends with this status (default with --run or --timeout: dead)';
  options
    .withFilter(events.command('replay'))
    .description('Replay events: run their handlers again, or send them over HTTP.')
    .addOption(new Option('--all', 'replay all notifications').conflicts(options.FILTER_FLAGS))
    .option('--timeout <time>', 'how long to wait for the ends; with --to, for answers', options.lengthOfTime)
    .option('--allow-empty', 'exit with 0 if no event matches; without it that is an error')
    .optionsGroup('To the handlers:')
    .option('--dry-run', 'only count the events')
    .option('--reset-steps', 'forget the results of ctx.once, so that every step runs again')
    .option('--run', 'run the handlers in this process; it takes every event that is ready')
    .addOption(new Option('--expect <status>', 'fail unless all events end with this status').choices(ENDS))
    .addOption(new Option('--fail-on <status>', failOnHelp).choices(['dead', 'none']).conflicts('expect'))
    .optionsGroup('Over HTTP:')
    .addOption(new Option('--to <url>', 'the receiver').argParser(options.receiverUrl).conflicts(TO_HANDLERS))
    .addOption(new Option('--from <file>', 'send this recording (-: stdin)').conflicts(['status', 'error']))
    .option('--secret-file <file>', 'sign with this secret (-: stdin) instead of that of the webhook')
    .option('--speed <factor>', 'keep the gaps, divided by this factor (default: max, no gaps)', speed)
    .option('--shuffle', 'send in random order; this holds all events in memory')
    .option('--seed <number>', 'the same seed gives the same shuffle and duplicates', options.wholeNumber())
    .option('--duplicate <probability>', 'send events twice with this probability', options.probability)
    .option('--concurrency <number>', 'send this many at once (default: 1)', options.wholeNumber(1))
    .option('--as-new', 'move event times so that the newest is now; the gaps stay')
    .action(replay);
}

/** A factor of speed; `max` is Infinity. */
function speed(text: string): number {
  const factor = text === 'max' ? Infinity : Number(text);
  return options.valid(factor > 0 ? factor : undefined, 'a factor such as 1, 10 or 0.5, or max');
}

async function replay(flags: Flags, command: Command): Promise<void> {
  const isGiven = (name: string) => command.getOptionValue(name) !== undefined;
  const { to, dryRun, run } = flags;
  if (!to && OVER_HTTP.some(isGiven))
    throw new KitError('INPUT_INVALID', 'options of a replay over HTTP need --to, the URL of the receiver');
  if (![...options.FILTER_FLAGS, 'all', 'dryRun', 'from'].some(isGiven))
    throw new KitError('INPUT_INVALID', 'this would replay everything: give a filter, or --all');
  const config = options.configOf(command);
  if (to) return overHttp({ config, flags, command, filter: options.filterOf(flags) }, to);
  const replayIn = async (store: StoreReader) => {
    const filter = options.filterOf(flags);
    return { config, flags, command, filter: await bulkFilter(store, 'replay', filter, flags.subscriber) };
  };
  if (dryRun) return withReader(config, async (store) => showReset(store, await replayIn(store)));
  if (!run) return withDatabase(config, async (store) => reset(store, await replayIn(store)));
  // Loaded only here: the other commands for events start sooner.
  const { Dispatcher } = await import('../../dispatch/dispatcher.ts');
  const { appsOf, together } = await import('../../dispatch/subscribers.ts');
  const { handlersFile } = await import('../../dispatch/load-handlers.ts');
  const { appOf, withHandlers } = await import('../with-handlers.ts');
  say(`handlers of ${line(handlersFile(config))}`); // those of another project may be meant: see HANDLERS
  // They load before anything is reset. Meanwhile nothing looks at a signal: Ctrl-C then ends the process as ever.
  await withDatabase(config, async (store) => {
    const replay = await replayIn(store);
    await withHandlers(config, store, ({ app, log }) => {
      const own = { log, config, store, clock: systemClock, random: Math.random };
      const { subscriber } = replay.filter;
      const meant = subscriber === undefined ? appsOf(app) : [appOf(app, subscriber)];
      const dispatcher = together(meant.map((one) => new Dispatcher({ ...own, app: one })));
      return reset(store, { ...replay, dispatcher });
    });
  });
}

interface Replay {
  readonly config: Config;
  readonly flags: Flags;
  readonly command: Command;
  readonly filter: EventFilter;
  /** with --run */
  readonly dispatcher?: toHandlers.HandlerReplay['dispatcher'];
}

async function showReset(store: StoreReader, { flags, filter }: Replay): Promise<void> {
  const { events, replayable, underWay } = await store.queue.tally(filter);
  const pruned = events - replayable - underWay;
  const value = { dry_run: true, replayable, under_way: underWay, pruned };
  await printResult(flags.json, value, `${plural(replayable, 'event')} would be replayed`);
  if (underWay > 0) say(`${plural(underWay, 'more is', 'more are')} ${HANDLED_ANYWAY}`);
  if (pruned > 0) say(`${plural(pruned, 'more was', 'more were')} pruned, and cannot be replayed`);
  if (replayable + underWay === 0) refuseNothing(flags, pruned);
}

async function reset(store: EventStore, replay: Replay): Promise<void> {
  const { config, flags, command, filter, dispatcher } = replay;
  const { resetSteps, expect, failOn, timeout: timeoutMs } = flags;
  const isAwaited = timeoutMs !== undefined || expect !== undefined || failOn === 'dead';
  await interruptible('run it again to replay the rest', async (signal) => {
    const waiting = { dispatcher, graceMs: config.SHUTDOWN_GRACE_MS, isAwaited, timeoutMs };
    const how = { filter, resetSteps, ...waiting, listener: onStderr, signal };
    const replaying = change(store, command, () => toHandlers.replayToHandlers(store, how));
    const { replayed, underWay, isCut, ends } = await replaying;
    if (signal.aborted && (isCut || ends)) {
      say(`${plural(replayed, 'event')} reset`);
      signal.throwIfAborted();
    }
    if (replayed + underWay === 0) refuseNothing(flags, await store.queue.count(filter));
    if (!ends && underWay > 0) say(`${plural(underWay, 'more is', 'more are')} ${HANDLED_ANYWAY}`);
    const others = underWay > 0 && { under_way: underWay };
    const begun = `${plural(replayed, 'event')} reset to pending: the receiver begins within two seconds`;
    const text = ends ? countTable(['status', 'events'], ends) : begun;
    await printResult(flags.json, { replayed, ...others, ...Object.fromEntries(ends ?? []) }, text);
    if (ends) toHandlers.checkEnds(ends, { expect, failOn });
  });
}

/** Sends events of the database, or of a recording, to a receiver. */
async function overHttp({ config, flags, filter }: Replay, to: URL): Promise<void> {
  const { replayOverHttp } = await import('../../replay/replay-over-http.ts');
  const { from, asNew, seed = randomInt(2 ** 31), shuffle, duplicate = 0, timeout: timeoutMs } = flags;
  if (flags.seed === undefined && (shuffle || duplicate > 0)) say(`--seed ${seed} repeats this`);
  const keys = await signingKeys(config, flags.secretFile);
  const advice = 'run it again; the receiver answers `duplicate` to notifications that it already has';
  await interruptible(advice, async (signal) => {
    const how = { ...flags, to, seed, keys, timeoutMs, listener: onStderr, signal };
    const recording = from === '-' ? process.stdin : from;
    const { counts, sent, pruned, unwanted } = recording
      ? await replayOverHttp(await recordingSource(recording, { filter, isReadTwice: asNew, signal }), how)
      : await withReader(config, (store) => replayOverHttp(databaseSource(store, filter), how));
    const shown = countTable(['answer', 'notifications'], counts);
    if (signal.aborted) say(`sent and answered: ${plural(sent, 'notification')}\n${shown}`);
    signal.throwIfAborted();
    if (counts.size === 0) refuseNothing(flags, pruned);
    if (pruned > 0) say(`left out, as pruned: ${plural(pruned, 'event')}`);
    await printResult(flags.json, Object.fromEntries(counts), shown);
    if (unwanted > 0)
      throw new KitError('REPLAY_FAILED', `not answered with 200: ${plural(unwanted, 'notification')}`);
  });
}

/** A table of what came how often, the most frequent first. */
function countTable(head: readonly string[], counts: ReadonlyMap<string, number>): string {
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([what, count]) => [what, String(count)]);
  return table(head, rows);
}

/** @throws KitError REPLAY_FAILED, as there is nothing to replay, unless that is allowed */
function refuseNothing({ allowEmpty }: Flags, pruned: number): void {
  if (allowEmpty) return;
  const why = pruned > 0 ? `all matches were pruned (${plural(pruned, 'event')})` : 'no event matches';
  throw new KitError('REPLAY_FAILED', `${why}: nothing is replayed (--allow-empty makes that a success)`);
}
