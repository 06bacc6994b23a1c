import { randomInt } from 'node:crypto';
import { Command, Option } from 'commander';
import { systemClock } from '../../base/clock.ts';
import { KitError } from '../../base/errors.ts';
import { type Config, loadConfig } from '../../config.ts';
import { notStored } from '../../dispatch/dispatcher.ts';
import { previewReset, previewSending } from '../../replay/dry-run.ts';
import type { Listener } from '../../replay/replay-listener.ts';
import type { Answers } from '../../replay/replay-over-http.ts';
import {
  checkEnds,
  ENDS,
  type Expectation,
  eventsWere,
  type HandlerReplayResult,
  replayToHandlers,
} from '../../replay/replay-to-handlers.ts';
import { withReport } from '../../replay/report-file.ts';
import { RESHAPING, type Reshaping } from '../../replay/reshape.ts';
import { databaseSource, type RecordedEvent, recordingSource, type Source } from '../../replay/sources.ts';
import type { EventFilter, EventStore } from '../../store/event-store.ts';
import { eventJson, iso } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/with-store.ts';
import { interruptible } from '../interruptible.ts';
import { atLeastOne, duration, probability, receiverUrl, speed, wholeNumber } from '../option-values.ts';
import { line, say, write } from '../print.ts';
import { stderrLog } from '../stderr-log.ts';
import { table } from '../table.ts';
import { pathOf, terminal } from '../terminal.ts';
import { eventTable } from './event-rows.ts';
import { addFilterOptions, type FilterFlags, filterOf, isRestricted } from './filter-options.ts';
import { listenerOnStderr } from './progress-bar.ts';
import { keysFor } from './secret-keys.ts';

interface Flags extends FilterFlags, Reshaping, Expectation {
  readonly all?: true;
  readonly dryRun?: true;
  readonly report?: string;
  readonly json?: true;
  readonly resetSteps?: true;
  readonly run?: true;
  readonly wait?: number;
  readonly allowEmpty?: true;
  readonly to?: URL;
  readonly from?: string;
  readonly secretFile?: string;
  readonly concurrency?: number;
  readonly timeout?: number;
}

const FOR_HANDLERS = ['resetSteps', 'run', 'wait', 'failOn', 'expect'] as const;
/** Beside the reshaping. */
const FOR_SENDING = ['from', 'secretFile', 'concurrency', ...RESHAPING] as const;

const EXAMPLES = `
Without --to, events are reset to pending, and the server begins to handle them within a second, or once it starts. Events that are
pending or running already stay as they are; the command says how many. With --to, events are sent over HTTP as the provider
sends them, each with a new signature.

No event runs before all of them are reset. If this command is killed, the events that it already reset run an hour later.
The same filter replays them earlier; if that filter names another status, --status pending does.

A report, --expect, --fail-on dead and --timeout need to know how each event ended. Without --to, the command waits for that:
run a server, or give --run. It also waits for matching events that are pending or running already.

Exits with 0 if every event ended as asked for, with 1 if one did not or no event matches, and with 2 if it was called wrongly.
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
    .description('Replay events: run their handlers again, or send them over HTTP.')
    .option('--all', 'replay every event; needed to replay the database without a filter')
    .option('--dry-run', 'only count the events and show the first few')
    .option('--report <file>', 'write how each event ended (NDJSON, for `hookkit events compare`)')
    .option('--json', 'print the result as JSON')
    .option('--reset-steps', 'handlers: forget the results of ctx.once, so that every step runs again')
    .option(
      '--run',
      'handlers: run src/handlers/ in this process until all events have ended; it takes every event that is ready',
    )
    .addOption(
      new Option(
        '--fail-on <status>',
        'handlers: wait, and exit with 1 if an event ends like this (default if the command waits anyway: dead)',
      ).choices(['dead', 'none']),
    )
    .addOption(
      new Option(
        '--expect <status>',
        'handlers: wait, and exit with 1 unless all events end like this',
      ).choices(ENDS),
    )
    .addOption(
      new Option('--wait <time>', 'the same as --timeout without --to').argParser(duration).hideHelp(),
    )
    .option('--to <url>', 'send to this receiver instead of running handlers', receiverUrl)
    .option('--from <file>', 'with --to: send this recording (-: stdin) instead of the database')
    .option(
      '--secret-file <file>',
      'with --to: sign with this secret (-: stdin) instead of the one stored for the webhook, or else WEBHOOK_SECRET',
    )
    .option(
      '--speed <factor>',
      'with --to: keep the recorded gaps, so many times faster, or max (default: max)',
      speed,
    )
    .option('--shuffle', 'with --to: send in random order; this holds all events in memory')
    .option('--seed <number>', 'with --to: the same seed gives the same shuffle and duplicates', wholeNumber)
    .option(
      '--duplicate <probability>',
      'with --to: send each event twice with this probability, such as 0.1',
      probability,
    )
    .option(
      '--concurrency <number>',
      'with --to: send so many at once, but the events of one media or channel one after the other; 1 keeps the recorded ' +
        'order exactly (default: 1)',
      atLeastOne,
    )
    .option(
      '--as-new',
      'with --to: move event times, gaps kept, so that the newest is now and receivers take all of them as new',
    )
    .option(
      '--timeout <time>',
      'how long to wait until all have ended (default: as long as it takes); with --to, for each answer (default: 10s)',
      duration,
    )
    .option('--allow-empty', 'exit with 0 if no event matches; without it that is an error')
    .addHelpText('after', EXAMPLES)
    .action(replay);
}

async function replay(flags: Flags): Promise<void> {
  const filter = filterOf(flags);
  refuseContradictions(flags, filter);
  const config = loadConfig();
  const { to } = flags;
  if (to) {
    const listener = listenerOnStderr();
    return interruptible(
      'run it again; the receiver answers `duplicate` to notifications that it already has',
      (signal) => overHttp(config, { flags, to, filter, listener, signal }),
    );
  }
  if (flags.dryRun) return withDatabase(config, (store) => showReset(store, filter, flags));
  return withDatabase(config, (store) => toHandlers(config, store, { flags, filter }));
}

/** @throws KitError INPUT_INVALID */
function refuseContradictions(flags: Flags, filter: EventFilter): void {
  refuseGiven(
    flags,
    flags.to ? FOR_HANDLERS : FOR_SENDING,
    flags.to ? 'cannot be given with --to' : 'needs --to',
  );
  if (flags.all && isRestricted(filter))
    throw new KitError('INPUT_INVALID', '--all and a filter contradict each other: give one of them');
  if (!flags.all && !flags.dryRun && flags.from === undefined && !isRestricted(filter))
    throw new KitError('INPUT_INVALID', 'this would replay everything: give a filter, or --all');
  if (flags.dryRun && flags.report !== undefined)
    throw new KitError('INPUT_INVALID', '--dry-run replays nothing to report on: leave --report out');
  if (flags.seed !== undefined && !flags.shuffle && flags.duplicate === undefined)
    throw new KitError('INPUT_INVALID', '--seed is for what is drawn: give --shuffle or --duplicate with it');
  if (flags.wait !== undefined && flags.timeout !== undefined)
    throw new KitError('INPUT_INVALID', '--wait and --timeout are the same: give one of them');
  if (flags.failOn === 'dead' && flags.expect === 'dead')
    throw new KitError(
      'INPUT_INVALID',
      '--fail-on dead and --expect dead contradict each other: give one of them',
    );
  if (flags.from !== undefined && flags.status !== undefined)
    throw new KitError('INPUT_INVALID', '--status is of the database: a recording has none');
  if (flags.from === '-' && flags.secretFile === '-')
    throw new KitError('INPUT_INVALID', 'stdin cannot be both the recording and the secret');
}

function refuseGiven(flags: Flags, names: readonly (keyof Flags)[], why: string): void {
  const given = names.find((name) => flags[name] !== undefined);
  if (given === undefined) return;
  const option = given.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new KitError('INPUT_INVALID', `--${option} ${why}`);
}

/** The report that the options ask for. */
function reportOf({ report }: Flags): string | undefined {
  return report === undefined ? undefined : pathOf(report);
}

/** @throws KitError REPLAY_FAILED, as there is nothing to replay, unless that is allowed */
function refuseEmpty({ allowEmpty, to }: Flags, pruned: number): void {
  if (allowEmpty) return;
  const why = pruned > 0 ? `the bodies of all ${pruned} events that match were pruned` : 'no event matches';
  const done = to ? 'sent' : 'replayed';
  throw new KitError('REPLAY_FAILED', `${why}: nothing is ${done} (--allow-empty makes that a success)`);
}

async function showReset(store: EventStore, filter: EventFilter, flags: Flags): Promise<void> {
  const { replayable, underWay, pruned, first } = await previewReset(store, filter);
  if (flags.json) {
    const counts = { replayable, under_way: underWay, pruned };
    await write(`${JSON.stringify({ dry_run: true, ...counts, first: first.map(eventJson) })}\n`);
  } else {
    const shown = first.length < replayable ? `, the first ${first.length} of them:` : ':';
    await write(`${replayable} events would be replayed${replayable > 0 ? shown : ''}\n`);
    if (first.length > 0) await write(eventTable(first));
    if (underWay > 0) say(`${underWay} more are pending or running: they are handled anyway`);
    if (pruned > 0) say(`${pruned} more cannot be replayed: their bodies were pruned`);
  }
  if (replayable + underWay === 0) refuseEmpty(flags, pruned);
}

interface Matching {
  readonly flags: Flags;
  readonly filter: EventFilter;
}

async function toHandlers(config: Config, store: EventStore, { flags, filter }: Matching): Promise<void> {
  const { resetSteps, run, expect, failOn, timeout: timeoutMs = flags.wait } = flags;
  const isAwaited = timeoutMs !== undefined || expect !== undefined || failOn === 'dead';
  const graceMs = config.SHUTDOWN_GRACE_MS;
  const listener = listenerOnStderr();
  // Before anything is reset. While they load, nothing looks at a signal: Ctrl-C then ends the process as ever.
  const opened = run ? await openHere(config, store) : undefined;
  await interruptible('run it again to replay the rest', async (signal) => {
    await using here = opened;
    const { ends } = await withReport(reportOf(flags), async (report) => {
      const waiting = { dispatcher: here?.dispatcher, graceMs, isAwaited, timeoutMs, report };
      const result = await replayToHandlers(store, { filter, resetSteps, ...waiting, listener, signal });
      tellInterruption(result, signal);
      if (result.replayed + result.underWay === 0) refuseEmpty(flags, await store.count(filter));
      await showEnds(result, flags);
      return result;
    });
    // The report is written by now: it says which events ended in another way than expected.
    if (ends) checkEnds(ends, { expect, failOn });
    const unstored = here?.dispatcher.unstored ?? 0;
    if (unstored > 0) throw notStored(unstored);
  });
}

/** What runs the handlers in this process, and guards it from them. */
async function openHere(config: Config, store: EventStore) {
  const { Dispatcher } = await import('../../dispatch/dispatcher.ts');
  const { handlersFile, loadApp } = await import('../../dispatch/load-handlers.ts');
  const { openApp } = await import('../../dispatch/open-app.ts');
  const { handlersHere } = await import('../handlers-here.ts');
  const log = stderrLog(config);
  await using ends = new AsyncDisposableStack();
  say(`handlers of ${line(handlersFile(config))}`); // those of another project may be meant: see HANDLERS
  ends.use(handlersHere(log));
  const app = await loadApp(config);
  const opened = await openApp(app, { config, log });
  ends.defer(() => opened.close());
  const dispatcher = new Dispatcher({
    config,
    app: opened,
    store,
    clock: systemClock,
    random: Math.random,
    log,
  });
  const kept = ends.move();
  return { dispatcher, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** @throws what the signal was aborted with, unless the replay has done all that it had to do */
function tellInterruption(
  { replayed, underWay, isCut, ends }: HandlerReplayResult,
  signal: AbortSignal,
): void {
  if (!signal.aborted || !(isCut || ends)) return;
  const ended = ENDS.reduce((sum, end) => sum + (ends?.get(end) ?? 0), 0);
  if (isCut) say(`${eventsWere(replayed)} reset`);
  else {
    const others = underWay > 0 ? `, ${underWay} more were pending or running already` : '';
    say(`${eventsWere(replayed)} reset${others}, and ${ended} of them have ended`);
  }
  signal.throwIfAborted();
}

async function showEnds({ replayed, underWay, ends }: HandlerReplayResult, { json }: Flags): Promise<void> {
  if (!ends && underWay > 0) say(`${underWay} more were pending or running already: they are handled anyway`);
  const rows = [...(ends ?? [])].sort();
  const counts = underWay > 0 ? { replayed, under_way: underWay } : { replayed };
  if (json) return write(`${JSON.stringify({ ...counts, ...Object.fromEntries(rows) })}\n`);
  if (!ends)
    return write(
      `${eventsWere(replayed)} reset to pending: the server begins to handle them within a second\n`,
    );
  return write(countTable(['status', 'events'], rows));
}

interface Sending extends Matching {
  readonly to: URL;
  readonly listener: Listener;
  readonly signal: AbortSignal;
}

async function overHttp(config: Config, sending: Sending): Promise<void> {
  const { flags, filter, signal } = sending;
  const { from, asNew } = flags;
  if (from === undefined)
    return withDatabase(config, (store) => {
      const withShare = sending.listener.isWatched;
      const source = databaseSource(store, { filter, receivedBy: systemClock.now(), withShare });
      return flags.dryRun ? showSending(source, sending) : sendAll(config, source, sending);
    });
  const times = asNew && !flags.dryRun ? 2 : 1;
  const recording = from === '-' ? terminal().stdin : pathOf(from);
  const source = await recordingSource(recording, { name: from, filter, times, signal });
  try {
    await (flags.dryRun ? showSending(source, sending) : sendAll(config, source, sending));
  } finally {
    await source.close();
  }
}

async function showSending(source: Source, { flags, listener }: Sending): Promise<void> {
  const { sendable, first, pruned, broken } = await previewSending(source, listener);
  const shown = sendable > first.length ? `, the first ${first.length} of them` : '';
  if (flags.json) await write(`${JSON.stringify({ dry_run: true, sendable })}\n`);
  else await write(`${sendable} notifications would be sent${shown}:\n`);
  if (!flags.json && sendable > 0) await write(recordedTable(first));
  if (sendable + broken === 0) refuseEmpty(flags, pruned);
  tellPruned(pruned);
  if (broken > 0) throw new KitError('REPLAY_FAILED', `${broken} lines cannot be sent`);
}

function recordedTable(events: readonly RecordedEvent[]): string {
  const rows = events.map(({ id, kind, resource, eventTime, receivedAt }) =>
    [id, eventTime === 0 ? '-' : iso(eventTime), iso(receivedAt), kind, resource].map(line),
  );
  return table(['id', 'event time', 'received', 'kind', 'resource'], rows);
}

async function sendAll(
  config: Config,
  source: Source,
  { flags, to, listener, signal }: Sending,
): Promise<void> {
  const { replayOverHttp } = await import('../../replay/replay-over-http.ts');
  const { speed, shuffle, duplicate, asNew, concurrency, timeout: timeoutMs } = flags;
  const { seed = randomInt(2 ** 31) } = flags;
  if (flags.seed === undefined && (shuffle || (duplicate ?? 0) > 0)) say(`--seed ${seed} repeats this`);
  const keys = await keysFor(config, flags.secretFile);
  const { answers, pruned } = await withReport(reportOf(flags), async (report) => {
    const reshaping = { speed, shuffle, seed, duplicate, asNew };
    const how = { to, keys, concurrency, timeoutMs, report, listener, signal };
    const result = await replayOverHttp(source, { ...reshaping, ...how });
    const { answers, pruned } = result;
    if (signal.aborted) say(`${answers.sent} notifications were sent and answered:\n${answerTable(answers)}`);
    signal.throwIfAborted();
    if (answers.counts.size === 0) refuseEmpty(flags, pruned);
    return result;
  });
  tellPruned(pruned);
  const counts = Object.fromEntries(answers.counts);
  await write(flags.json ? `${JSON.stringify(counts)}\n` : answerTable(answers));
  refuseUnwanted(answers.unwanted);
}

function answerTable({ counts }: Answers): string {
  return countTable(
    ['answer', 'notifications'],
    [...counts].sort(([, a], [, b]) => b - a),
  );
}

function countTable(head: readonly string[], rows: readonly (readonly [string, number])[]): string {
  return table(
    head,
    rows.map(([name, count]) => [line(name), String(count)]),
  );
}

function tellPruned(pruned: number): void {
  if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
}

/** @throws KitError REPLAY_FAILED */
function refuseUnwanted(unwanted: number): void {
  if (unwanted > 0)
    throw new KitError(
      'REPLAY_FAILED',
      `${unwanted} ${unwanted === 1 ? 'notification was' : 'notifications were'} not answered with 200`,
    );
}
