import { systemClock } from '../../../base/clock.ts';
import { KitError } from '../../../base/errors.ts';
import type { Config } from '../../../config.ts';
import { loadHandlers } from '../../../dispatch/load-handlers.ts';
import { eventJson } from '../../../store/event-json.ts';
import type { EventFilter, EventStore } from '../../../store/event-store.ts';
import { interruptible } from '../../interruptible.ts';
import { say, write } from '../../print.ts';
import { table } from '../../table.ts';
import { terminal } from '../../terminal.ts';
import { pagesOf } from '../each-event.ts';
import { eventTable } from '../event-rows.ts';
import { withDatabase } from '../open-database.ts';
import { pause } from '../pause.ts';
import { Progress } from '../progress.ts';
import { refuseEmpty } from '../refuse-empty.ts';
import { withReport } from '../with-report.ts';
import { awaitEnds, type End, type Tally } from './await-ends.ts';
import { preview, standingOf } from './dry-run.ts';
import { IdList } from './id-list.ts';

export interface HandlerReplay {
  readonly filter: EventFilter;
  readonly dryRun?: true;
  readonly resetSteps?: true;
  readonly run?: true;
  readonly report?: string;
  /** leaves the reasons in the report as they are */
  readonly exact?: true;
  /** how long to wait until all have ended, in milliseconds */
  readonly timeout?: number;
  /** `dead`: an event that ends so is a failure */
  readonly failOn?: 'dead' | 'none';
  /** all must end so */
  readonly expect?: End;
  readonly allowEmpty?: true;
  readonly json?: true;
}

/** Between two commits another process gets to write: acks are not to wait for a replay. */
const PAUSE_MS = 20;

/** `hookkit events replay` without `--to`. */
export function replayToHandlers(config: Config, replay: HandlerReplay): Promise<void> {
  const { run, dryRun } = replay;
  const work = (store: EventStore) =>
    dryRun ? showPreview(store, replay) : replayAll(store, config, replay);
  // Handlers that run here are not to wait for the disk more than they would in the server.
  return withDatabase(config, work, { threads: run === true && !dryRun });
}

async function showPreview(store: EventStore, replay: HandlerReplay): Promise<void> {
  const { filter, json } = replay;
  const { replayable, underWay, pruned, first } = await preview(store, filter);
  if (json) {
    const counts = { replayable, under_way: underWay, pruned };
    await write(`${JSON.stringify({ dry_run: true, ...counts, first: first.map(eventJson) })}\n`);
  } else {
    const shown = first.length < replayable ? `, the first ${first.length} of them:` : ':';
    await write(`${replayable} events would be replayed${replayable > 0 ? shown : ''}\n`);
    if (first.length > 0) await write(eventTable(first));
    if (underWay > 0) say(`${underWay} more are pending or running: they are handled anyway`);
    if (pruned > 0) say(`${pruned} more cannot be replayed: their bodies were pruned`);
  }
  if (replayable + underWay === 0) refuseEmpty(replay.allowEmpty, { pruned, done: 'replayed' });
}

async function replayAll(store: EventStore, config: Config, replay: HandlerReplay): Promise<void> {
  const { filter, run, report: path, exact, timeout, json } = replay;
  await interruptible('run it again to replay the rest', async (signal) => {
    const tally = await withReport({ path, reasons: exact ? 'exact' : 'portable' }, async (report) => {
      const ids = new IdList();
      const handlers = run && (await loadHandlers(config)); // before anything is put back that they cannot handle
      const { replayed, underWay, isCut } = await putBack(store, { replay, signal, ids });
      if (isCut) say(`${replayed} events were put back`);
      if (isCut) signal.throwIfAborted();
      if (replayed + underWay === 0)
        refuseEmpty(replay.allowEmpty, { pruned: await store.count(filter), done: 'replayed' });
      const more = `${underWay} more were pending or running already`;
      if (!isAwaited(replay)) {
        if (underWay > 0) say(`${more}: they are handled anyway`);
        const text = `${replayed} events put back to pending: the server takes them up within a second`;
        await write(json ? `${jsonOf(replayed, underWay)}\n` : `${text}\n`);
        return undefined;
      }
      if (underWay > 0) say(`${more}: they are taken along`);
      say(`${replayed} events put back to pending; waiting until they have ended`);
      const stop = handlers
        ? (await import('./run-here.ts')).runHere(store, config, handlers)
        : async () => {};
      const until = timeout === undefined ? undefined : systemClock.now() + timeout;
      const ends = await awaitEnds({ store, ids, report, signal, until }).finally(stop);
      if (signal.aborted) say(`all ${ids.length} events were put back, and ${sum(ends)} of them have ended`);
      signal.throwIfAborted();
      await write(json ? `${jsonOf(replayed, underWay, ends)}\n` : tableOf(ends));
      return ends;
    });
    // Once the report is in its place: it says which they were.
    if (tally) judge(tally, replay);
  });
}

/** Whether the command goes on until the events have ended. */
function isAwaited({ run, report, timeout, failOn, expect }: HandlerReplay): boolean {
  return Boolean(run) || failOn === 'dead' || [report, timeout, expect].some((given) => given !== undefined);
}

/** @throws KitError REPLAY_FAILED if the events did not end as they were to */
function judge(tally: Tally, { failOn = 'dead', expect }: HandlerReplay): void {
  const open = (tally.get('pending') ?? 0) + (tally.get('running') ?? 0);
  if (open > 0) throw new KitError('REPLAY_FAILED', `${open} events had not ended when the time was over`);
  const others = sum(tally) - (tally.get(expect ?? '') ?? 0);
  if (expect !== undefined && others > 0)
    throw new KitError('REPLAY_FAILED', `${others} events did not end as ${expect}`);
  const dead = tally.get('dead') ?? 0;
  if (failOn === 'dead' && expect !== 'dead' && dead > 0)
    throw new KitError('REPLAY_FAILED', `${dead} events ended as dead (--fail-on none lets them)`);
}

interface PuttingBack {
  readonly replay: HandlerReplay;
  readonly signal: AbortSignal;
  /** takes up the ids of the events to wait for, where somebody waits */
  readonly ids: IdList;
}

interface PutBack {
  readonly replayed: number;
  /** matched, but were pending or running before, so that they are handled anyway */
  readonly underWay: number;
  /** the signal came before all were put back */
  readonly isCut: boolean;
}

async function putBack(store: EventStore, { replay, signal, ids }: PuttingBack): Promise<PutBack> {
  const { filter, resetSteps } = replay;
  const isNoted = isAwaited(replay);
  const began = systemClock.now();
  const total = terminal().stderr.isTTY ? await store.count(filter) : undefined;
  const back = new Progress({ verb: 'put back' });
  let ready: Progress | undefined;
  let isCut: boolean | undefined;
  let count = 0;
  let underWay = 0;
  const replayed = await store.replay(filter, {
    resetSteps,
    signal,
    onStep: async (step) => {
      if (isNoted) ids.add(step);
      count += step.length;
      back.show(count, total && count / total);
      await pause(PAUSE_MS, signal);
    },
    onHeld: async () => {
      isCut = signal.aborted;
      for await (const page of underWayOf(store, filter, began)) {
        if (isNoted) ids.add(page);
        underWay += page.length;
      }
    },
    onReady: async (events) => {
      ready ??= new Progress({ verb: 'made ready' });
      ready.show(events, events / count);
      await pause(PAUSE_MS, signal);
    },
  });
  back.end();
  ready?.end();
  return { replayed, underWay, isCut: isCut ?? signal.aborted };
}

/**
 * The ids of what matches and is pending or running, while a replay holds all that it has put back. What was received
 * since the replay began is left out: it is not what was asked for.
 */
async function* underWayOf(
  store: EventStore,
  filter: EventFilter,
  began: number,
): AsyncGenerator<readonly string[]> {
  for (const status of ['pending', 'running'] as const) {
    if (filter.status !== undefined && filter.status !== status) continue;
    for await (const page of pagesOf(store, { ...filter, status })) {
      const meant = page.filter((event) => standingOf(event) === 'underWay' && event.receivedAt <= began);
      yield meant.map(({ id }) => id);
    }
  }
}

function jsonOf(replayed: number, underWay: number, tally: Tally = new Map()): string {
  const counts = [...(underWay > 0 ? [['under_way', underWay]] : []), ...[...tally].sort()];
  return JSON.stringify({ replayed, ...Object.fromEntries(counts) });
}

function tableOf(tally: Tally): string {
  const rows = [...tally].sort().map(([status, count]) => [status, String(count)]);
  return table(['status', 'events'], rows);
}

function sum(tally: Tally): number {
  return [...tally.values()].reduce((total, count) => total + count, 0);
}
