import type { Database } from 'better-sqlite3';
import { lanesOf } from './resource-queues.ts';

const STEP = 1000;

/** Makes ready what waited for its next attempt until now; a step at a time, so that a large wave does not stall acks. */
export function wakeWaiting(db: Database): (now: number) => void {
  const lanes = lanesOf(db);
  const due = db.prepare<[number], { seq: number; resource: string; event_time: number }>(
    `SELECT seq, resource, event_time FROM events
     WHERE next_attempt_at <= +? AND next_attempt_at IS NOT NULL ORDER BY next_attempt_at LIMIT ${STEP}`,
  );
  const wake = db.prepare('UPDATE events SET next_attempt_at = NULL WHERE seq = ?');
  return (now) => {
    for (const { seq, resource, event_time } of due.all(now)) {
      wake.run(seq);
      lanes.open(resource, event_time);
    }
  };
}
