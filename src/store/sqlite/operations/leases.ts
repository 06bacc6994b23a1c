import type { Database } from 'better-sqlite3';
import { type EventId, eventId } from '../../event-id.ts';
import type { ClaimRequest } from '../../event-store.ts';
import { resourceQueues } from './resource-queues.ts';
import { attemptWriter } from './settle.ts';

/** A lease, and the start that runs under it. */
interface Lease {
  resource: string;
  event: number;
  started_at: number;
  starts: number;
  attempts: number;
  replays: number;
}

export function renew(db: Database): (input: { owner: string; until: number }) => EventId[] {
  const extend = db.prepare('UPDATE lanes SET lease_until = ? WHERE owner = ? AND event IS NOT NULL');
  const held = db.prepare<[string], { event_time: number; digest: Buffer }>(
    `SELECT events.event_time, events.digest FROM lanes JOIN events ON events.seq = lanes.event WHERE lanes.owner = ?`,
  );
  return ({ owner, until }) => {
    extend.run(until, owner);
    return held.all(owner).map((row) => eventId(row.event_time, row.digest));
  };
}

const LOST = 'its process crashed, or did not renew its lease in time';

/**
 * Ends the leases that other owners no longer renew; the owner that asks is alive, and its events still run. A crash
 * uses an attempt up, so an event that crashes its process ends as dead. Events that were lost together become ready one
 * after the other, over the length of a lease: the one that ended its process does not take the others along again.
 */
export function recoverLost(db: Database): (request: Omit<ClaimRequest, 'limit'> & { now: number }) => void {
  const queues = resourceQueues(db);
  const writeAttempt = attemptWriter(db);
  // A lease that began in the future is from before the clock was set back, and would last for as long.
  const shorten = db.prepare(
    `UPDATE lanes SET lease_until = :until
     WHERE event IS NOT NULL AND lease_until > +:until AND started_at > +:now AND owner <> :owner`,
  );
  const lost = db.prepare<{ now: number; owner: string }, Lease>(
    `SELECT lanes.resource, lanes.event, lanes.started_at, events.attempts + events.interrupted AS starts,
       events.attempts, events.replays
     FROM lanes JOIN events ON events.seq = lanes.event
     WHERE lanes.event IS NOT NULL AND lanes.lease_until <= +:now AND lanes.owner <> :owner
     ORDER BY events.event_time, events.seq`,
  );
  const end = db.prepare(
    `UPDATE events SET status = :status, last_error = '${LOST}', next_attempt_at = :nextAttemptAt WHERE seq = :seq`,
  );
  return ({ now, owner, leaseMs, maxAttempts }) => {
    shorten.run({ until: now + leaseMs, now, owner });
    const leases = lost.all({ now, owner });
    for (const [index, lease] of leases.entries()) {
      const { resource, event: seq, started_at: startedAt, starts, attempts, replays } = lease;
      writeAttempt({ seq, replays, starts, startedAt, now, outcome: 'lost', error: LOST });
      const status = attempts >= maxAttempts ? 'dead' : 'pending';
      const waits = status === 'pending' && index > 0;
      const nextAttemptAt = waits ? now + Math.floor((index * leaseMs) / leases.length) : null;
      end.run({ seq, status, nextAttemptAt });
      queues.free(resource);
    }
  };
}
