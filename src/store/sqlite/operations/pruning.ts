import type { Database } from 'better-sqlite3';
import { conditionOf } from './filter-sql.ts';

interface Step {
  readonly handledBefore: number;
  readonly limit: number;
  readonly among: readonly string[] | undefined;
}

/** Empties finished events, one step at a time. The row stays, so that a repeat is recognised. */
export function prune(db: Database): (step: Step) => number {
  const oldest = db
    .prepare<[number, number], number>(
      `SELECT seq FROM events WHERE handled_at < ? AND handled_at IS NOT NULL AND body IS NOT NULL
       ORDER BY handled_at LIMIT ?`,
    )
    .pluck();
  const empty = db.prepare('UPDATE events SET body = NULL, last_error = NULL WHERE seq = ?');
  const forgetAttempts = db.prepare('DELETE FROM attempts WHERE event = ?');
  const forgetSteps = db.prepare('DELETE FROM steps WHERE event = ?');

  const oldestAmong = (ids: readonly string[], handledBefore: number, limit: number): number[] => {
    const { sql, params } = conditionOf({ ids });
    // The plus keeps SQLite from reading all old events through events_finished; each id is one look-up instead.
    return db
      .prepare<unknown[], number>(
        `SELECT seq FROM events WHERE (${sql}) AND +handled_at < ? AND body IS NOT NULL
         ORDER BY +handled_at LIMIT ?`,
      )
      .pluck()
      .all(...params, handledBefore, limit);
  };

  return ({ handledBefore, limit, among }) => {
    const pruned = among ? oldestAmong(among, handledBefore, limit) : oldest.all(handledBefore, limit);
    for (const seq of pruned) {
      empty.run(seq);
      forgetAttempts.run(seq);
      forgetSteps.run(seq);
    }
    return pruned.length;
  };
}
