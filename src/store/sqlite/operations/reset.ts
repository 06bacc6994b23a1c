import type { Database } from 'better-sqlite3';
import { type EventId, eventId } from '../../event-id.ts';
import type { Status } from '../../event-store.ts';
import { conditionOf } from './filter-sql.ts';
import { lanesOf } from './resource-queues.ts';

/** What a replay takes: what is finished or put off, and not pruned. */
export const REPLAYABLE = `body IS NOT NULL AND (status IN ('handled', 'skipped', 'dead') OR next_attempt_at IS NOT NULL)`;

/** What is put off and was not attempted is held: a replay put it back, and it has not run since. */
const HELD = `status = 'pending' AND next_attempt_at IS NOT NULL AND attempts = 0`;

/** A replay that holds what it puts back until all of it is. */
export interface Holder {
  /** tells it apart from others that go on at the same time */
  readonly name: string;
  /** when what it holds begins to run by itself, one each millisecond in their order, should it never let go */
  readonly until: number;
}

interface PutBack {
  readonly holder: Holder;
  readonly ids: readonly EventId[];
  /** what the filter says, which may hold no longer since they were looked up */
  readonly status: Status | undefined;
  readonly resetSteps: boolean;
  /** how many it holds already */
  readonly held: number;
}

/**
 * Puts finished or waiting events back to pending, and holds them: were they ready at once, one would run while a newer
 * event of its resource still counts as handled, though it is about to be put back as well. What another replay holds
 * is taken over, and counts as replayed once.
 */
export function putBack(db: Database): (input: PutBack) => EventId[] {
  const forget = db.prepare('DELETE FROM steps WHERE event = ?');
  const hold = db.prepare(
    `UPDATE events SET status = 'pending', replays = replays + iif(${HELD}, 0, 1), attempts = 0, handled_at = NULL,
       next_attempt_at = :at, last_error = :note
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

interface LetGo {
  readonly holder: Holder;
  /** the first of those that it put back, counted from 0 */
  readonly from: number;
  readonly count: number;
}

/** Makes ready what a replay put back, in its order; what runs by itself or was taken over by now is left. */
export function letGo(db: Database): (input: LetGo) => void {
  const lanes = lanesOf(db);
  const release = db.prepare<[number, number, string], { resource: string; event_time: number }>(
    `UPDATE events INDEXED BY events_waiting SET next_attempt_at = NULL, last_error = NULL
     WHERE next_attempt_at >= ? AND next_attempt_at < ? AND last_error = ? AND ${HELD}
     RETURNING resource, event_time`,
  );
  return ({ holder, from, count }) => {
    const first = holder.until + from;
    for (const { resource, event_time } of release.all(first, first + count, noteOf(holder))) {
      lanes.open(resource, event_time);
    }
  };
}

/** Stands where the last error would, for whoever wonders why the event waits. */
function noteOf({ name }: Holder): string {
  return `waits until replay ${name} has put back all it is to`;
}

export function lastSeq(db: Database): () => number {
  const find = db.prepare<[], number | null>('SELECT max(seq) FROM events').pluck();
  return () => find.get() ?? 0;
}
