import { type Clock, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { EventFilter, EventStore } from '../store/event-store.ts';
import { awaitEnds, type End, type Ends, IdList } from './await-ends.ts';
import { standingOf } from './dry-run.ts';
import { pagesOf } from './event-pages.ts';
import { eventsWere } from './events-were.ts';
import { type Listener, type Stage, UNINTERRUPTED, UNWATCHED } from './replay-listener.ts';
import type { Report } from './report-file.ts';
import { resetEvents } from './reset-events.ts';

export interface HandlerReplay {
  readonly filter: EventFilter;
  /** makes ctx.once run every step again */
  readonly resetSteps?: boolean | undefined;
  /** handles the events in this process, until all have ended; without it, a server handles them */
  readonly dispatcher?:
    | (Pick<Dispatcher, 'start' | 'stop'> & Partial<Pick<Dispatcher, 'unstored'>>)
    | undefined;
  /** how long the dispatcher waits at its stop for handlers that still run */
  readonly graceMs?: number;
  /** waits until all events have ended, even without a dispatcher */
  readonly isAwaited?: boolean;
  /** how long to wait until all have ended; undefined: as long as it takes */
  readonly timeoutMs?: number | undefined;
  readonly report?: Report | undefined;
  readonly clock?: Clock;
  readonly listener?: Listener;
  readonly signal?: AbortSignal;
}

/** The result of a replay to the handlers. */
export interface HandlerReplayResult {
  /** reset to pending */
  readonly replayed: number;
  /** matched, but pending or running before, so that they are handled anyway */
  readonly underWay: number;
  /** the signal came before all events were reset */
  readonly isCut: boolean;
  /** how the events ended; undefined if the replay did not wait for that */
  readonly ends: Ends | undefined;
  /** how many results the stop of the dispatcher could not store; undefined: there was none */
  readonly unstored?: number | undefined;
}

type Store = Pick<EventStore, 'replay' | 'count' | 'searchOldest' | 'overview'>;

/** How many events one look at their ends takes. */
const PAGE = 200;
/** Between two commits of a reset. */
const PAUSE_MS = 20;
const GRACE_MS = 10_000;

/**
 * Has handlers handle events again: resets the events of the filter to pending, and waits for their ends if the caller
 * asks for it. Events that are pending or running already stay as they are; a replay that waits, waits for them too.
 * @throws KitError REPLAY_FAILED if it waits, and no process handles the events
 */
export async function replayToHandlers(store: Store, replay: HandlerReplay): Promise<HandlerReplayResult> {
  const { dispatcher, graceMs = GRACE_MS, report, timeoutMs = Infinity } = replay;
  const { clock = systemClock, listener = UNWATCHED, signal = UNINTERRUPTED } = replay;
  const isAwaited = dispatcher !== undefined || report !== undefined || replay.isAwaited === true;
  const ids = isAwaited ? new IdList() : undefined;
  const reset = await resetMatching(store, { replay, ids, clock, listener, signal });
  const { replayed, underWay, isCut } = reset;
  if (isCut || !ids) return { ...reset, ends: undefined };
  if (ids.length === 0) return { ...reset, ends: new Map() };
  if (underWay > 0)
    listener.say(`${underWay} more were pending or running already: this replay includes them`);
  listener.say(`${eventsWere(replayed)} reset to pending; waiting until they have ended`);
  if (dispatcher) await sayOfOthers(store, ids.length, listener);
  dispatcher?.start();
  let isStopped = false;
  const stop = async () => {
    if (!isStopped) await dispatcher?.stop(graceMs);
    isStopped = true;
  };
  try {
    const until = clock.now() + timeoutMs;
    const ends = await awaitEnds({
      store,
      ids,
      clock,
      listener,
      report,
      signal,
      until,
      onTimeUp: dispatcher && stop, // what ends meanwhile counts
    });
    await stop();
    return { ...reset, ends, unstored: dispatcher?.unstored || undefined };
  } finally {
    await stop();
  }
}

/** A dispatcher handles whatever is due. Whoever replays one event should not learn that from the handlers. */
async function sayOfOthers(store: Store, matched: number, listener: Listener): Promise<void> {
  const others = (await store.overview()).pending - matched;
  if (others > 0)
    listener.say(
      `${others} other events are pending: those that are due are handled as well, as by a server`,
    );
}

interface Resetting {
  readonly replay: HandlerReplay;
  /** takes the ids of the events to wait for */
  readonly ids: IdList | undefined;
  readonly clock: Clock;
  readonly listener: Listener;
  readonly signal: AbortSignal;
}

async function resetMatching(
  store: Store,
  { replay, ids, clock, listener, signal }: Resetting,
): Promise<Omit<HandlerReplayResult, 'ends'>> {
  const { filter, resetSteps } = replay;
  // Before the reset: an event may end between the look for ended events and a later look for the others.
  const underWay = await underWayOf(store, { filter, receivedBy: clock.now(), signal });
  const total = listener.isWatched ? await store.count(filter) : undefined;
  const resetting = listener.begin('reset');
  let making: Stage | undefined;
  let count = 0;
  const { replayed, isCut } = await resetEvents(store, {
    filter,
    resetSteps,
    clock,
    pauseMs: PAUSE_MS,
    signal,
    onReset(page) {
      ids?.add(page);
      for (const id of page) underWay.delete(id); // it ended meanwhile
      count += page.length;
      resetting.show(count, total && count / total);
    },
    onReady(events) {
      making ??= listener.begin('made ready');
      making.show(events, events / count);
    },
  });
  resetting.end();
  making?.end();
  const others = [...underWay];
  for (let at = 0; at < others.length; at += PAGE) ids?.add(others.slice(at, at + PAGE));
  return { replayed, isCut, underWay: others.length };
}

interface UnderWay {
  readonly filter: EventFilter;
  /** leaves out events received later, milliseconds since the epoch */
  readonly receivedBy: number;
  /** ends the search */
  readonly signal: AbortSignal;
}

/** The ids of matching events that are pending or running. */
async function underWayOf(store: Store, { filter, receivedBy, signal }: UnderWay): Promise<Set<string>> {
  const found = new Set<string>();
  for (const status of ['pending', 'running'] as const) {
    if (filter.status !== undefined && filter.status !== status) continue;
    for await (const page of pagesOf(store, { ...filter, status })) {
      if (signal.aborted) return found;
      for (const event of page) {
        if (standingOf(event) === 'underWay' && event.receivedAt <= receivedBy) found.add(event.id);
      }
    }
  }
  return found;
}

/** The expected ends of a replay. */
export interface Expectation {
  /** all events end like this */
  readonly expect?: End | undefined;
  /** `dead`: no event ends as dead */
  readonly failOn?: 'dead' | 'none' | undefined;
}

/** @throws KitError REPLAY_FAILED if events have not ended, or ended in another way than expected */
export function checkEnds(ends: Ends, { expect, failOn = 'dead' }: Expectation): void {
  const open = (ends.get('pending') ?? 0) + (ends.get('running') ?? 0);
  if (open > 0) throw new KitError('REPLAY_FAILED', `${open} events had not ended when the time was over`);
  const others = [...ends].reduce((sum, [status, count]) => (status === expect ? sum : sum + count), 0);
  if (expect !== undefined && others > 0)
    throw new KitError('REPLAY_FAILED', `${others} events did not end as ${expect}`);
  const dead = ends.get('dead') ?? 0;
  if (failOn === 'dead' && expect !== 'dead' && dead > 0)
    throw new KitError('REPLAY_FAILED', `${dead} events ended as dead (--fail-on none lets them)`);
}
