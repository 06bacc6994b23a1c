import type { Database } from 'better-sqlite3';
import { attemptWriter } from './attempts.ts';
import { lanesOf } from './lanes.ts';

interface LostLease {
  resource: string;
  event: number;
  started_at: number;
  attempts: number;
}

const LOST = 'its process crashed, or did not renew its lease in time';

/** Takes back what is leased to owners that no longer renew. A crash has used an attempt up, so poison ends as dead. */
export function recoverLost(db: Database): (now: number, maxAttempts: number) => void {
  const lanes = lanesOf(db);
  const writeAttempt = attemptWriter(db);
  const lost = db.prepare<[number], LostLease>(
    `SELECT lanes.resource, lanes.event, lanes.started_at, events.attempts
     FROM lanes JOIN events ON events.seq = lanes.event
     WHERE lanes.event IS NOT NULL AND lanes.lease_until <= ?`,
  );
  const putBack = db.prepare('UPDATE events SET status = ?, last_error = ? WHERE seq = ?');
  return (now, maxAttempts) => {
    for (const lease of lost.all(now)) {
      writeAttempt({ seq: lease.event, startedAt: lease.started_at, now, outcome: 'lost', error: LOST });
      putBack.run(lease.attempts >= maxAttempts ? 'dead' : 'pending', LOST, lease.event);
      lanes.free(lease.resource);
    }
  };
}
