import type { Database } from 'better-sqlite3';
import type { Replayable, ResetTables } from '../../driver.ts';
import { conditionOf } from './filter-sql.ts';
import { idOf, type WorkColumns, workOf } from './rows.ts';

/** The events that a replay resets: finished or waiting for a later attempt, and not pruned. */
export const REPLAYABLE = `body IS NOT NULL AND (status IN ('handled', 'skipped', 'dead') OR next_attempt_at IS NOT NULL)`;

export function resetTables(db: Database): ResetTables {
  const oldest = db
    .prepare<[number, number], number>(
      `SELECT event FROM results WHERE handled_at < ? AND handled_at IS NOT NULL AND has_body = 1
       ORDER BY handled_at LIMIT ?`,
    )
    .pluck();
  const removeBody = db.prepare('UPDATE ledger SET body = NULL WHERE seq = ?');
  const emptyResult = db.prepare('UPDATE results SET last_error = NULL, has_body = 0 WHERE event = ?');
  const removeAttempts = db.prepare('DELETE FROM attempts WHERE event = ?');
  const removeSteps = db.prepare('DELETE FROM steps WHERE event = ?');
  const among = (ids: readonly string[], endedBefore: number, limit: number): number[] => {
    const { sql, params } = conditionOf({ ids });
    // The plus keeps SQLite from reading all old events through an index; each id is one look-up instead.
    return db
      .prepare<unknown[], number>(
        `SELECT seq FROM events WHERE (${sql}) AND +handled_at < ? AND body IS NOT NULL
         ORDER BY +handled_at LIMIT ?`,
      )
      .pluck()
      .all(...params, endedBefore, limit);
  };
  return {
    replayable(filter) {
      const { sql, params } = conditionOf(filter);
      return db
        .prepare<unknown[], WorkColumns & { digest: Buffer; status: Replayable['status'] }>(
          `SELECT seq AS event, * FROM events WHERE ${sql} AND ${REPLAYABLE} ORDER BY event_time, digest`,
        )
        .all(...params)
        .map((row) => ({ ...workOf(row), id: idOf(row), status: row.status }));
    },
    prunable: (endedBefore, limit, ids) =>
      ids ? among(ids, endedBefore, limit) : oldest.all(endedBefore, limit),
    empty(events) {
      for (const event of events) {
        removeBody.run(event);
        emptyResult.run(event);
        removeAttempts.run(event);
        removeSteps.run(event);
      }
    },
  };
}
