import type { Database } from 'better-sqlite3';
import { type EventId, eventId } from '../../event-id.ts';
import type { Status } from '../../event-store.ts';
import { conditionOf } from './filter-sql.ts';
import { resourceQueues } from './resource-queues.ts';

/** The events that a replay resets: finished or waiting for a later attempt, and not pruned. */
export const REPLAYABLE = `body IS NOT NULL AND (status IN ('handled', 'skipped', 'dead') OR next_attempt_at IS NOT NULL)`;

/** An event that waits without an attempt is held: a replay reset it, and it has not run since. */
const HELD = `status = 'pending' AND next_attempt_at IS NOT NULL AND attempts = 0`;

/** A replay that holds the events it resets until all of them are reset. */
export interface Holder {
  /** differs from those of other replays that run at the same time */
  readonly name: string;
  /** if the replay ends before it makes its events ready, they run from this time on, one a millisecond, in order */
  readonly until: number;
}

interface Reset {
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
export function resetEvents(db: Database): (input: Reset) => EventId[] {
  const forget = db.prepare('DELETE FROM steps WHERE event = ?');
  const hold = db.prepare(
    `UPDATE events SET status = 'pending', replays = replays + iif(${HELD}, 0, 1), attempts = 0, interrupted = 0, late = NULL,
       handled_at = NULL, next_attempt_at = :at, last_error = :note
     WHERE seq = :seq`,
  );
  return ({ holder, ids, status, resetSteps, held }) => {
    const { sql, params } = conditionOf({ ids, status });
    const rows = db
      .prepare<unknown[], { seq: number; event_time: number; digest: Buffer }>(
        `SELECT seq, event_time, digest FROM events WHERE ${sql} AND ${REPLAYABLE} ORDER BY event_time, digest`,
      )
      .all(...params);
    const note = noteOf(holder);
    for (const [index, { seq }] of rows.entries()) {
      if (resetSteps) forget.run(seq);
      hold.run({ seq, at: holder.until + held + index, note });
    }
    return rows.map((row) => eventId(row.event_time, row.digest));
  };
}

interface Ready {
  readonly holder: Holder;
  /** the first event of these, counted from 0 in the order in which they were reset */
  readonly from: number;
  readonly count: number;
}

/** Makes the events of a replay ready, in their order. Events that run already or changed to another replay are left. */
export function makeReady(db: Database): (input: Ready) => void {
  const queues = resourceQueues(db);
  const wake = db.prepare<[number, number, string], { resource: string; event_time: number }>(
    `UPDATE events INDEXED BY events_waiting SET next_attempt_at = NULL, last_error = NULL
     WHERE next_attempt_at >= ? AND next_attempt_at < ? AND last_error = ? AND ${HELD}
     RETURNING resource, event_time`,
  );
  return ({ holder, from, count }) => {
    const first = holder.until + from;
    for (const { resource, event_time } of wake.all(first, first + count, noteOf(holder))) {
      queues.open(resource, event_time);
    }
  };
}

/** Stands in place of the last error, and says why the event waits. */
function noteOf({ name }: Holder): string {
  return `waits until replay ${name} has reset all its events`;
}

export function lastSeq(db: Database): () => number {
  const find = db.prepare<[], number | null>('SELECT max(seq) FROM events').pluck();
  return () => find.get() ?? 0;
}
