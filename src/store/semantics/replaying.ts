import type { EventTables, Replayable, WorkChange } from '../driver.ts';
import type { EventId } from '../event-id.ts';
import type { Status } from '../event-store.ts';
import { FRESH } from './recording.ts';
import { tally } from './tallying.ts';

/** A replay that holds the events it resets until all of them are reset. */
export interface Holder {
  /** differs from those of other replays that run at the same time */
  readonly name: string;
  /** if the replay ends before it makes its events ready, they run from this time on, one a millisecond, in order */
  readonly until: number;
}

export interface Reset {
  readonly holder: Holder;
  readonly ids: readonly EventId[];
  /** of the filter: the events may have another status since they were looked up */
  readonly status: Status | undefined;
  readonly resetSteps: boolean;
  /** how many events it holds already */
  readonly held: number;
}

/**
 * Resets finished or waiting events to pending, and holds them. If they were ready at once, one could run while a newer
 * event of its resource still counts as handled, although the replay resets that one next. An event that another replay
 * holds changes to this replay, and counts as replayed once.
 */
export async function resetEvents(
  tables: EventTables,
  { holder, ids, status, resetSteps, held }: Reset,
): Promise<EventId[]> {
  if (status === 'running') return [];
  const events = await tables.replayable({ ids, status });
  const finished = events.filter((event) => event.status !== 'pending');
  const waiting = events.filter((event) => event.status === 'pending');
  const places = new Map(events.map(({ event }, index) => [event, holder.until + held + index]));
  const resetOf = (event: Replayable): WorkChange => ({
    event: event.event,
    ...FRESH,
    replays: event.replays + (isHeld(event) ? 0 : 1),
    nextAttemptAt: places.get(event.event),
    lastError: noteOf(holder),
  });
  if (finished.length > 0) {
    await tables.removeResults(finished);
    await tables.addWork(finished.map((event) => ({ ...event, ...resetOf(event) })));
    await tables.addTallies(
      tally(
        finished.flatMap(({ kind, status: before }) => [
          { kind, status: before, by: -1 },
          { kind, status: 'pending', by: 1 },
        ]),
      ),
    );
  }
  if (waiting.length > 0) await tables.changeWork(waiting.map(resetOf));
  if (resetSteps) await tables.removeSteps(events.map(({ event }) => event));
  return events.map(({ id }) => id);
}

/** An event that waits without an attempt is held: a replay reset it, and it has not run since. */
function isHeld({ status, attempts }: Replayable): boolean {
  return status === 'pending' && attempts === 0;
}

export interface Ready {
  readonly holder: Holder;
  /** the first event of these, counted from 0 in the order in which they were reset */
  readonly from: number;
  readonly count: number;
}

/** Makes the events of a replay ready, in their order. Events that run already or changed to another replay are left. */
export async function makeReady(tables: EventTables, { holder, from, count }: Ready): Promise<void> {
  const first = holder.until + from;
  const held = await tables.waitingWith(noteOf(holder), first, first + count);
  if (held.length === 0) return;
  await tables.changeWork(held.map((row) => ({ ...row, nextAttemptAt: undefined, lastError: undefined })));
  await tables.openLanes(held);
}

/** Stands in place of the last error, and says why the event waits. */
function noteOf({ name }: Holder): string {
  return `waits until replay ${name} has reset all its events`;
}
