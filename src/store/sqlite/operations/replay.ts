import type { Database } from 'better-sqlite3';
import { type EventId, eventId } from '../../event-id.ts';
import type { EventFilter } from '../../event-store.ts';
import { conditionOf } from './filter.ts';
import { lanesOf } from './lanes.ts';

interface Step {
  readonly filter: EventFilter;
  readonly resetSteps: boolean;
  /** where the step before ended; 0 at first */
  readonly after: number;
  readonly upTo: number;
  readonly limit: number;
}

export interface Replayed {
  readonly ids: readonly EventId[];
  /** where the next step goes on; undefined at the end */
  readonly last: number | undefined;
}

/** Puts one step's worth of finished or waiting events back to pending. */
export function replay(db: Database): (step: Step) => Replayed {
  const lanes = lanesOf(db);
  const forget = db.prepare('DELETE FROM steps WHERE event = ?');
  const putBack = db.prepare(
    `UPDATE events SET status = 'pending', attempts = 0, replays = replays + 1, next_attempt_at = NULL,
       last_error = NULL, handled_at = NULL
     WHERE seq = ?`,
  );
  return ({ filter, resetSteps, after, upTo, limit }) => {
    const { sql, params } = conditionOf(filter);
    const rows = db
      .prepare<unknown[], { seq: number; resource: string; event_time: number; digest: Buffer }>(
        `SELECT seq, resource, event_time, digest FROM events
         WHERE ${sql} AND body IS NOT NULL AND seq > ? AND seq <= ?
           AND (status IN ('handled', 'skipped', 'dead') OR next_attempt_at IS NOT NULL)
         ORDER BY seq LIMIT ?`,
      )
      .all(...params, after, upTo, limit);
    for (const { seq, resource, event_time } of rows) {
      if (resetSteps) forget.run(seq);
      putBack.run(seq);
      lanes.open(resource, event_time);
    }
    const ids = rows.map((row) => eventId(row.event_time, row.digest));
    return { ids, last: rows.length < limit ? undefined : rows.at(-1)?.seq };
  };
}

export function lastSeq(db: Database): () => number {
  const find = db.prepare<[], number | null>('SELECT max(seq) FROM events').pluck();
  return () => find.get() ?? 0;
}
