import { pauseUntilAborted, systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { plural } from '../base/text.ts';
import type { Dispatcher } from '../dispatch/dispatcher.ts';
import type { EventFilter, EventStore, Status, StoredEvent } from '../store/event-store.ts';
import type { ENDS } from './recording-lines.ts';
import type { ReplayListener } from './replay-listener.ts';
import { isUnderWay, pagesOf } from './sources.ts';

/** How many events ended with each status. */
export type Ends = ReadonlyMap<Status, number>;

export interface HandlerReplay {
  readonly filter: EventFilter;
  /** makes ctx.once run every step again */
  readonly resetSteps?: boolean | undefined;
  /** handles the events in this process, until all have ended; without it, a server handles them */
  readonly dispatcher?: Pick<Dispatcher, 'start' | 'stop'> | undefined;
  /** how long the dispatcher waits at its stop for handlers that still run */
  readonly graceMs: number;
  /** waits until all events have ended, even without a dispatcher */
  readonly isAwaited: boolean;
  /** how long to wait until all have ended; undefined: as long as it takes */
  readonly timeoutMs?: number | undefined;
  readonly listener: ReplayListener;
  readonly signal: AbortSignal;
}

/** How many events one look at their ends takes. */
const PAGE = 200;
/** Between two commits of a reset. */
const PAUSE_MS = 20;

/**
 * Has handlers handle events again: resets the events of the filter to pending, and waits for their ends if the caller
 * asks for it. Events that are pending or running already stay as they are; a replay that waits, waits for them too.
 * @returns how many were reset (`replayed`), how many matched and are handled anyway (`underWay`), whether the signal came before all were
 *   reset (`isCut`), and how they ended, if it waited for that
 * @throws KitError REPLAY_FAILED if it waits, and no process handles the events
 */
export async function replayToHandlers(store: EventStore, replay: HandlerReplay) {
  const { dispatcher, graceMs, timeoutMs = Infinity, listener, signal } = replay;
  const { ids, ...reset } = await resetMatching(store, replay);
  if (reset.isCut || !(dispatcher || replay.isAwaited)) return { ...reset, ends: undefined };
  if (ids.length === 0) return { ...reset, ends: new Map<Status, number>() };
  if (reset.underWay > 0)
    listener.say(`${plural(reset.underWay, 'more was', 'more were')} pending or running, and included`);
  listener.say(`${plural(reset.replayed, 'event was', 'events were')} reset to pending; waiting for the end`);
  // A dispatcher handles whatever is due. Whoever replays one event should not learn that from the handlers.
  const { subscriber } = replay.filter;
  const overview = dispatcher && (await store.reports.overview());
  const work = subscriber === undefined ? overview : overview?.subscribers[subscriber];
  const others = work ? work.pending - ids.length : 0;
  if (others > 0)
    listener.say(`${plural(others, 'other event is', 'other events are')} pending, and handled when due`);
  let stopping: Promise<unknown> | undefined;
  const stop = async () => {
    stopping ??= dispatcher?.stop(graceMs);
    await stopping;
  };
  dispatcher?.start();
  try {
    const waiting = { listener, signal, stop, until: systemClock.now() + timeoutMs };
    return { ...reset, ends: await awaitEnds(store, ids, waiting) };
  } finally {
    await stop();
  }
}

/** Resets what matches. @returns the ids of all events that are handled from now on */
async function resetMatching(store: EventStore, { filter, resetSteps, listener, signal }: HandlerReplay) {
  // Before the reset: an event may end between the look for ended events and a later look for the others.
  const underWay = await underWayOf(store, filter);
  const total = await store.queue.count(filter);
  // Between two commits another process gets to write: acks do not wait for a replay.
  const rest = () => pauseUntilAborted(systemClock, PAUSE_MS, signal);
  using resetting = listener.begin('reset');
  let isCut: boolean | undefined;
  const ids: string[] = [];
  const { events: replayed } = await store.queue.replay(filter, {
    resetSteps,
    signal,
    onStep(step) {
      for (const id of step) {
        ids.push(id);
        underWay.delete(id); // it ended meanwhile
      }
      resetting.show(ids.length, ids.length / total);
      return rest();
    },
    onReady() {
      isCut ??= signal.aborted; // all are reset by now, unless the signal kept some from it
      return rest();
    },
  });
  ids.push(...underWay);
  return { replayed, underWay: underWay.size, isCut: isCut ?? signal.aborted, ids };
}

/** The ids of matching events that are pending or running. */
async function underWayOf(store: EventStore, filter: EventFilter): Promise<Set<string>> {
  const found = new Set<string>();
  for (const status of ['pending', 'running'] as const) {
    if (filter.status !== undefined && filter.status !== status) continue;
    for await (const page of pagesOf(store, { ...filter, status })) {
      for (const event of page) if (isUnderWay(event)) found.add(event.id);
    }
  }
  return found;
}

interface Waiting extends Pick<HandlerReplay, 'listener' | 'signal'> {
  /** when to stop waiting, milliseconds since the epoch; Infinity: never */
  readonly until: number;
  /** ends what runs in this process */
  readonly stop: () => Promise<void>;
}

const POLL_MS = 100;
/** Where nothing runs and nothing ends for so long, no process handles events. */
const LONGEST_QUIET_MS = 15_000;

/**
 * Waits until each of the events has ended. At the time limit, or once the signal is aborted, it counts the
 * others with the status that they have then.
 */
async function awaitEnds(store: EventStore, ids: readonly string[], waiting: Waiting): Promise<Ends> {
  const counts = new Map<Status, number>();
  using stage = waiting.listener.begin('ended');
  const show = (ended: number) => stage.show(ended, ended / ids.length);
  for (let from = 0; from < ids.length; from += PAGE) {
    const page = ids.slice(from, from + PAGE);
    const events = await whenEnded(store, page, waiting, (ended) => show(from + ended));
    for (const { status } of events) counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}

/** Some events, once all of them have ended or the time is over. @throws KitError REPLAY_FAILED if no process handles them */
async function whenEnded(
  store: EventStore,
  ids: readonly string[],
  { signal, until, stop }: Waiting,
  onEnded: (events: number) => void,
): Promise<readonly StoredEvent[]> {
  let open = ids.length;
  let quietSince = systemClock.now();
  for (;;) {
    const isOver = signal.aborted || systemClock.now() >= until;
    if (isOver) await stop(); // what ends meanwhile counts
    const { events } = await store.queue.search({ filter: { ids }, limit: ids.length, order: 'oldest' });
    const isOpen = ({ status }: StoredEvent) => status === 'pending' || status === 'running';
    const left = isOver ? [] : events.filter(isOpen);
    onEnded(ids.length - left.length);
    if (left.length === 0) return events;
    const seen = left.length === open && left.some(isReady) ? await store.reports.overview() : undefined;
    open = left.length;
    if (seen?.running !== 0) quietSince = systemClock.now();
    const why = seen?.paused ? PAUSED : UNHANDLED;
    if (systemClock.now() - quietSince >= LONGEST_QUIET_MS) throw new KitError('REPLAY_FAILED', why);
    await pauseUntilAborted(systemClock, POLL_MS, signal);
  }
}

function isReady({ status, nextAttemptAt = 0 }: StoredEvent): boolean {
  return status === 'pending' && nextAttemptAt < systemClock.now();
}

const PAUSED = 'the events are reset to pending, but handling is paused: npx hookkit resume';
const UNHANDLED = 'the events are reset to pending, but no receiver handles them: start one, or use --run';

/** The expected ends of a replay. */
export interface Expectation {
  /** all events end like this */
  readonly expect?: (typeof ENDS)[number] | undefined;
  /** `dead`: no event ends as dead */
  readonly failOn?: 'dead' | 'none' | undefined;
}

/** @throws KitError REPLAY_FAILED if events have not ended, or ended in another way than expected */
export function checkEnds(ends: Ends, { expect, failOn = 'dead' }: Expectation): void {
  const open = (ends.get('pending') ?? 0) + (ends.get('running') ?? 0);
  if (open > 0)
    throw new KitError('REPLAY_FAILED', `${plural(open, 'event')} had not ended in time: raise --timeout`);
  const others = [...ends].reduce((sum, [status, count]) => (status === expect ? sum : sum + count), 0);
  if (expect !== undefined && others > 0)
    throw new KitError('REPLAY_FAILED', `${plural(others, 'event')} did not end as ${expect}`);
  const dead = ends.get('dead') ?? 0;
  if (failOn === 'dead' && expect !== 'dead' && dead > 0)
    throw new KitError('REPLAY_FAILED', `${plural(dead, 'event')} ended as dead (--fail-on none allows it)`);
}
