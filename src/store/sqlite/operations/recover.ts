import type { Database } from 'better-sqlite3';
import type { ClaimRequest } from '../../event-store.ts';
import { attemptWriter } from './attempts.ts';
import { lanesOf } from './resource-queues.ts';

interface LostLease {
  resource: string;
  event: number;
  started_at: number;
  attempts: number;
  replays: number;
}

const LOST = 'its process crashed, or did not renew its lease in time';

/**
 * Takes back what is leased to others that no longer renew; an owner that asks is alive, and what it holds still runs. A
 * crash has used an attempt up, so poison ends as dead. What was lost together comes back one after the other, spread
 * over the length of a lease: whichever of them ended its process does not take the others along again.
 */
export function recoverLost(db: Database): (request: Omit<ClaimRequest, 'limit'> & { now: number }) => void {
  const lanes = lanesOf(db);
  const writeAttempt = attemptWriter(db);
  // What began in what is now the future is from before the clock was put back, and would be held for as long.
  const shorten = db.prepare(
    `UPDATE lanes SET lease_until = :until
     WHERE event IS NOT NULL AND lease_until > +:until AND started_at > +:now AND owner <> :owner`,
  );
  const lost = db.prepare<{ now: number; owner: string }, LostLease>(
    `SELECT lanes.resource, lanes.event, lanes.started_at, events.attempts, events.replays
     FROM lanes JOIN events ON events.seq = lanes.event
     WHERE lanes.event IS NOT NULL AND lanes.lease_until <= +:now AND lanes.owner <> :owner
     ORDER BY events.event_time, events.seq`,
  );
  const putBack = db.prepare(
    `UPDATE events SET status = :status, last_error = '${LOST}', next_attempt_at = :nextAttemptAt WHERE seq = :seq`,
  );
  return ({ now, owner, leaseMs, maxAttempts }) => {
    shorten.run({ until: now + leaseMs, now, owner });
    const leases = lost.all({ now, owner });
    for (const [
      index,
      { resource, event: seq, started_at: startedAt, attempts, replays },
    ] of leases.entries()) {
      writeAttempt({ seq, replays, attempts, startedAt, now, outcome: 'lost', error: LOST });
      const status = attempts >= maxAttempts ? 'dead' : 'pending';
      const waits = status === 'pending' && index > 0;
      const nextAttemptAt = waits ? now + Math.floor((index * leaseMs) / leases.length) : null;
      putBack.run({ seq, status, nextAttemptAt });
      lanes.free(resource);
    }
  };
}
