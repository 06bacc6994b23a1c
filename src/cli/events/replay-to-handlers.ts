import { systemClock } from '../../base/clock.ts';
import type { Config } from '../../config.ts';
import { Dispatcher } from '../../dispatch/dispatcher.ts';
import { handlersFile } from '../../dispatch/load-handlers.ts';
import {
  checkEnds,
  ENDS,
  eventsWere,
  type HandlerReplayResult,
  replayToHandlers,
} from '../../replay/replay-to-handlers.ts';
import { withReport } from '../../replay/report-file.ts';
import { previewReset } from '../../replay/sources.ts';
import type { EventFilter, EventStore } from '../../store/event-store.ts';
import { eventJson } from '../../store/lists/event-json.ts';
import { withDatabase } from '../../store/open.ts';
import { interruptible } from '../interruptible.ts';
import { type ReplayFlags, refuseEmpty } from '../options.ts';
import { line, listenerOnStderr, print, printJsonLine, say, table, write } from '../output.ts';
import { type HandlersHere, withHandlers } from '../with-handlers.ts';
import { eventTable } from './list-and-show.ts';

interface Replay {
  readonly flags: ReplayFlags;
  readonly filter: EventFilter;
}

/** Has handlers handle events again: those of a server, or with --run those of this process. */
export async function replayToOurHandlers(config: Config, replay: Replay): Promise<void> {
  const { dryRun, run } = replay.flags;
  if (dryRun) return withDatabase(config, (store) => showReset(store, replay));
  if (!run) return withDatabase(config, (store) => reset(config, store, replay));
  say(`handlers of ${line(handlersFile(config))}`); // those of another project may be meant: see HANDLERS
  // They load before anything is reset. Meanwhile nothing looks at a signal: Ctrl-C then ends the process as ever.
  await withHandlers(config, (here) =>
    withDatabase(config, (store) => reset(config, store, { ...replay, here })),
  );
}

async function showReset(store: EventStore, { flags, filter }: Replay): Promise<void> {
  const { replayable, underWay, pruned, first } = await previewReset(store, filter);
  if (flags.json) {
    const counts = { replayable, under_way: underWay, pruned };
    await printJsonLine({ dry_run: true, ...counts, first: first.map(eventJson) });
  } else {
    await print(`${replayable} events would be replayed, the first of them:`);
    if (first.length > 0) await write(eventTable(first));
    if (underWay > 0) say(`${underWay} more are pending or running: they are handled anyway`);
    if (pruned > 0) say(`${pruned} more cannot be replayed: their bodies were pruned`);
  }
  if (replayable + underWay === 0) refuseEmpty(flags, pruned);
}

async function reset(
  config: Config,
  store: EventStore,
  { flags, filter, here }: Replay & { readonly here?: HandlersHere },
): Promise<void> {
  const { resetSteps, expect, failOn, timeout: timeoutMs } = flags;
  const dispatcher =
    here && new Dispatcher({ ...here, config, store, clock: systemClock, random: Math.random });
  const isAwaited = timeoutMs !== undefined || expect !== undefined || failOn === 'dead';
  const graceMs = config.SHUTDOWN_GRACE_MS;
  const listener = listenerOnStderr();
  await interruptible('run it again to replay the rest', async (signal) => {
    const waiting = { dispatcher, graceMs, isAwaited, timeoutMs, listener, signal };
    const result = await withReport(flags.report, async (report) => {
      const replayed = await replayToHandlers(store, { filter, resetSteps, report, ...waiting });
      if (signal.aborted) tellInterruption(replayed, signal);
      if (replayed.replayed + replayed.underWay === 0) refuseEmpty(flags, await store.count(filter));
      return replayed;
    });
    await showEnds(result, flags);
    if (result.ends) checkEnds(result.ends, { expect, failOn });
  });
}

/** @throws what the signal was aborted with, unless the replay has done all that it had to do */
function tellInterruption({ replayed, isCut, ends }: HandlerReplayResult, signal: AbortSignal): void {
  if (!isCut && !ends) return;
  const ended = ENDS.reduce((sum, end) => sum + (ends?.get(end) ?? 0), 0);
  say(`${eventsWere(replayed)} reset, and ${ended} events have ended`);
  signal.throwIfAborted();
}

async function showEnds(result: HandlerReplayResult, { json }: ReplayFlags): Promise<void> {
  const { replayed, underWay, ends } = result;
  if (!ends && underWay > 0) say(`${underWay} more were pending or running already: they are handled anyway`);
  const rows = [...(ends ?? [])].sort();
  const waiting = underWay > 0 && { under_way: underWay };
  if (json) return printJsonLine({ replayed, ...waiting, ...Object.fromEntries(rows) });
  if (!ends)
    return print(`${eventsWere(replayed)} reset to pending: the server handles them within a second`);
  const counts = rows.map(([status, count]) => [status, String(count)]);
  await write(table(['status', 'events'], counts));
}
