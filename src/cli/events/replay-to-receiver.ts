import { randomInt } from 'node:crypto';
import { KitError } from '../../base/errors.ts';
import type { Config } from '../../config.ts';
import { type Answers, replayOverHttp } from '../../replay/replay-over-http.ts';
import { withReport } from '../../replay/report-file.ts';
import { databaseSource, previewSending, recordingSource, type Source } from '../../replay/sources.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { iso } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/open.ts';
import { interruptible } from '../interruptible.ts';
import { type ReplayFlags, refuseEmpty } from '../options.ts';
import { listenerOnStderr, print, printJsonLine, say, table, write } from '../output.ts';
import { signingKeys } from './send.ts';

interface Replay {
  readonly flags: ReplayFlags;
  /** the receiver */
  readonly to: URL;
  readonly filter: EventFilter;
}

interface Sending extends Replay {
  readonly source: Source;
  readonly signal: AbortSignal;
}

/** Sends events of the database, or of a recording, to a receiver. */
export async function replayToReceiver(config: Config, replay: Replay): Promise<void> {
  const { flags, filter } = replay;
  const { from, dryRun, asNew } = flags;
  const send = (source: Source, signal: AbortSignal) =>
    dryRun ? showSending(source, flags) : sendAll(config, { ...replay, source, signal });
  const advice = 'run it again; the receiver answers `duplicate` to notifications that it already has';
  await interruptible(advice, async (signal) => {
    if (from === undefined)
      return withDatabase(config, (store) => send(databaseSource(store, filter), signal));
    const times = asNew && !dryRun ? 2 : 1;
    const recording = from === '-' ? process.stdin : from;
    const source = await recordingSource(recording, { filter, times, signal });
    return send(source, signal).finally(() => source.close());
  });
}

async function showSending(source: Source, flags: ReplayFlags): Promise<void> {
  const { sendable, first, pruned, broken } = await previewSending(source, listenerOnStderr());
  const rows = first.map(({ id, kind, resource, eventTime, receivedAt }) => {
    const time = eventTime === 0 ? '-' : iso(eventTime);
    return [id, time, iso(receivedAt), kind, resource];
  });
  if (flags.json) await printJsonLine({ dry_run: true, sendable });
  else {
    await print(`${sendable} notifications would be sent, the first of them:`);
    await write(table(['id', 'event time', 'received', 'kind', 'resource'], rows));
  }
  if (sendable + broken === 0) refuseEmpty(flags, pruned);
  tellPruned(pruned);
  if (broken > 0) throw new KitError('REPLAY_FAILED', `${broken} lines cannot be sent`);
}

async function sendAll(config: Config, { flags, to, source, signal }: Sending): Promise<void> {
  const { speed, shuffle, duplicate, asNew, concurrency, timeout: timeoutMs } = flags;
  const { seed = randomInt(2 ** 31) } = flags;
  if (flags.seed === undefined && (shuffle || (duplicate ?? 0) > 0)) say(`--seed ${seed} repeats this`);
  const keys = await signingKeys(config, flags.secretFile);
  const { answers, pruned } = await withReport(flags.report, async (report) => {
    const reshaping = { speed, shuffle, seed, duplicate, asNew };
    const how = { to, keys, concurrency, timeoutMs, report, listener: listenerOnStderr(), signal };
    const result = await replayOverHttp(source, { ...reshaping, ...how });
    const { answers, pruned } = result;
    if (signal.aborted) say(`${answers.sent} notifications were sent and answered:\n${answerTable(answers)}`);
    signal.throwIfAborted();
    if (answers.counts.size === 0) refuseEmpty(flags, pruned);
    return result;
  });
  tellPruned(pruned);
  if (flags.json) await printJsonLine(Object.fromEntries(answers.counts));
  else await write(answerTable(answers));
  if (answers.unwanted > 0)
    throw new KitError('REPLAY_FAILED', `${answers.unwanted} notifications were not answered with 200`);
}

function answerTable({ counts }: Answers): string {
  const rows = [...counts].sort(([, a], [, b]) => b - a).map(([answer, count]) => [answer, String(count)]);
  return table(['answer', 'notifications'], rows);
}

function tellPruned(pruned: number): void {
  if (pruned > 0) say(`left out: ${pruned} events whose bodies were pruned`);
}
