import type { Database } from 'better-sqlite3';

/** Empties finished events, a step at a time. The row stays, and with it the identity that tells a repeat. */
export function prune(db: Database): (step: { handledBefore: number; limit: number }) => number {
  const empty = db
    .prepare<[number, number], number>(
      `UPDATE events SET body = NULL, last_error = NULL
       WHERE seq IN (
         SELECT seq FROM events WHERE handled_at < ? AND handled_at IS NOT NULL AND body IS NOT NULL
         ORDER BY handled_at LIMIT ?)
       RETURNING seq`,
    )
    .pluck();
  const forgetAttempts = db.prepare('DELETE FROM attempts WHERE event = ?');
  const forgetSteps = db.prepare('DELETE FROM steps WHERE event = ?');
  return ({ handledBefore, limit }) => {
    const pruned = empty.all(handledBefore, limit);
    for (const seq of pruned) {
      forgetAttempts.run(seq);
      forgetSteps.run(seq);
    }
    return pruned.length;
  };
}
