import { systemClock } from '../../../clock.ts';
import type { Config } from '../../../config.ts';
import { KitError } from '../../../errors.ts';
import { eventJson } from '../../../store/event-json.ts';
import type { EventFilter, EventStore } from '../../../store/event-store.ts';
import { interruptible } from '../../interruptible.ts';
import { loadHandlers } from '../../load-handlers.ts';
import { say, write } from '../../print.ts';
import { table } from '../../table.ts';
import { eventTable } from '../event-rows.ts';
import { withDatabase } from '../open-database.ts';
import { pause } from '../pause.ts';
import { Progress } from '../progress.ts';
import { withReport } from '../with-report.ts';
import { awaitEnds, type Tally } from './await-ends.ts';
import { preview } from './dry-run.ts';
import { IdList } from './id-list.ts';

export interface HandlerReplay {
  readonly filter: EventFilter;
  readonly dryRun?: true;
  readonly resetSteps?: true;
  readonly run?: true;
  readonly report?: string;
  /** milliseconds */
  readonly wait?: number;
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

async function showPreview(store: EventStore, { filter, json }: HandlerReplay): Promise<void> {
  const { replayable, underWay, pruned, first } = await preview(store, filter);
  if (json) {
    const counts = { replayable, under_way: underWay, pruned };
    return write(`${JSON.stringify({ dry_run: true, ...counts, first: first.map(eventJson) })}\n`);
  }
  const shown = first.length < replayable ? `, the first ${first.length} of them:` : ':';
  await write(`${replayable} events would be replayed${replayable > 0 ? shown : ''}\n`);
  if (first.length > 0) await write(eventTable(first));
  if (underWay > 0) say(`${underWay} more are pending or running: they are handled anyway`);
  if (pruned > 0) say(`${pruned} more cannot be replayed: their bodies were pruned`);
}

async function replayAll(store: EventStore, config: Config, replay: HandlerReplay): Promise<void> {
  const { filter, resetSteps, run, report: path, wait, json } = replay;
  await interruptible('run it again to replay the rest', (signal) =>
    withReport(path, async (report) => {
      const isAwaited = run === true || report !== undefined;
      const ids = new IdList();
      const handlers = run && (await loadHandlers(config)); // before anything is put back that they cannot handle
      const { replayed, isCut } = await putBack(
        store,
        { filter, resetSteps, signal },
        (step) => isAwaited && ids.add(step),
      );
      if (isCut) say(`${replayed} events were put back`);
      if (isCut) signal.throwIfAborted();
      if (!isAwaited) {
        const text = `${replayed} events put back to pending: the server takes them up within a second`;
        return write(json ? `${JSON.stringify({ replayed })}\n` : `${text}\n`);
      }
      say(`${replayed} events put back to pending; waiting until they have ended`);
      const stop = handlers
        ? (await import('./run-here.ts')).runHere(store, config, handlers)
        : async () => {};
      const until = wait === undefined ? undefined : systemClock.now() + wait;
      const tally = await awaitEnds({ store, ids, report, signal, until }).finally(stop);
      if (signal.aborted) say(`all ${replayed} events were put back, and ${sum(tally)} of them have ended`);
      signal.throwIfAborted();
      await tell(replayed, tally, json);
      const open = (tally.get('pending') ?? 0) + (tally.get('running') ?? 0);
      if (open > 0)
        throw new KitError('REPLAY_FAILED', `${open} events had not ended when the time was over`);
    }),
  );
}

interface PutBack {
  readonly filter: EventFilter;
  readonly resetSteps: true | undefined;
  readonly signal: AbortSignal;
}

async function putBack(
  store: EventStore,
  { filter, resetSteps, signal }: PutBack,
  onStep: (ids: readonly string[]) => unknown,
): Promise<{ readonly replayed: number; readonly isCut: boolean }> {
  const total = process.stderr.isTTY ? await store.count(filter) : undefined;
  const back = new Progress({ verb: 'put back' });
  let ready: Progress | undefined;
  let isCut: boolean | undefined;
  let count = 0;
  const replayed = await store.replay(filter, {
    resetSteps,
    signal,
    onStep: async (ids) => {
      onStep(ids);
      count += ids.length;
      back.show(count, total && count / total);
      await pause(PAUSE_MS, signal);
    },
    onReady: async (events) => {
      ready ??= new Progress({ verb: 'made ready' });
      isCut ??= signal.aborted;
      ready.show(events, events / count);
      await pause(PAUSE_MS, signal);
    },
  });
  back.end();
  ready?.end();
  return { replayed, isCut: isCut ?? signal.aborted };
}

async function tell(replayed: number, tally: Tally, json: true | undefined): Promise<void> {
  const counts = [...tally].sort();
  if (json) return write(`${JSON.stringify({ replayed, ...Object.fromEntries(counts) })}\n`);
  await write(
    table(
      ['status', 'events'],
      counts.map(([status, count]) => [status, String(count)]),
    ),
  );
}

function sum(tally: Tally): number {
  return [...tally.values()].reduce((total, count) => total + count, 0);
}
