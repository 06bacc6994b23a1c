import type { Database } from 'better-sqlite3';
import { type EventId, eventId } from '../../event-id.ts';
import type { ClaimRequest } from '../../event-store.ts';
import { resourceQueues } from './resource-queues.ts';
import { attemptWriter } from './settle.ts';

/** A lease, and the attempt that runs under it. */
interface Lease {
  resource: string;
  event: number;
  started_at: number;
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

/** Releases the leases of an owner and takes their attempts off the count: a stop cut them short, not a failure. */
export function release(db: Database): (input: { owner: string; now: number }) => number {
  const queues = resourceQueues(db);
  const writeAttempt = attemptWriter(db);
  const held = db.prepare<[string], Lease>(
    `SELECT lanes.resource, lanes.event, lanes.started_at, events.attempts, events.replays
     FROM lanes JOIN events ON events.seq = lanes.event WHERE lanes.owner = ?`,
  );
  const reset = db.prepare(`UPDATE events SET status = 'pending', attempts = attempts - 1 WHERE seq = ?`);
  return ({ owner, now }) => {
    const leases = held.all(owner);
    for (const { resource, event: seq, started_at: startedAt, attempts, replays } of leases) {
      writeAttempt({ seq, replays, attempts, startedAt, now, outcome: 'interrupted', error: null });
      reset.run(seq);
      queues.free(resource);
    }
    return leases.length;
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
    `SELECT lanes.resource, lanes.event, lanes.started_at, events.attempts, events.replays
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
    for (const [
      index,
      { resource, event: seq, started_at: startedAt, attempts, replays },
    ] of leases.entries()) {
      writeAttempt({ seq, replays, attempts, startedAt, now, outcome: 'lost', error: LOST });
      const status = attempts >= maxAttempts ? 'dead' : 'pending';
      const waits = status === 'pending' && index > 0;
      const nextAttemptAt = waits ? now + Math.floor((index * leaseMs) / leases.length) : null;
      end.run({ seq, status, nextAttemptAt });
      queues.free(resource);
    }
  };
}
