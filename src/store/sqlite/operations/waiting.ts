import type { Database } from 'better-sqlite3';
import { lanesOf } from './lanes.ts';

const STEP = 1000;

/** Makes ready what waited for its next attempt until now; a step at a time, so that a large wave does not stall acks. */
export function wakeWaiting(db: Database): (now: number) => void {
  const lanes = lanesOf(db);
  const wake = db.prepare<[number, number], { resource: string; event_time: number }>(
    `UPDATE events SET next_attempt_at = NULL
     WHERE seq IN (SELECT seq FROM events WHERE next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?)
     RETURNING resource, event_time`,
  );
  return (now) => {
    for (const { resource, event_time } of wake.all(now, STEP)) lanes.open(resource, event_time);
  };
}
