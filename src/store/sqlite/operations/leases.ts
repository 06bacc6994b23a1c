import type { Database } from 'better-sqlite3';
import { type EventId, eventId } from '../../event-id.ts';
import { attemptWriter } from './attempts.ts';
import { lanesOf } from './resource-queues.ts';

interface Held {
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

/** Gives back what an owner holds, attempt included: it was cut short by an orderly stop, not by a failure. */
export function release(db: Database): (input: { owner: string; now: number }) => number {
  const lanes = lanesOf(db);
  const writeAttempt = attemptWriter(db);
  const held = db.prepare<[string], Held>(
    `SELECT lanes.resource, lanes.event, lanes.started_at, events.attempts, events.replays
     FROM lanes JOIN events ON events.seq = lanes.event WHERE lanes.owner = ?`,
  );
  const putBack = db.prepare(`UPDATE events SET status = 'pending', attempts = attempts - 1 WHERE seq = ?`);
  return ({ owner, now }) => {
    const leases = held.all(owner);
    for (const { resource, event: seq, started_at: startedAt, attempts, replays } of leases) {
      writeAttempt({ seq, replays, attempts, startedAt, now, outcome: 'interrupted', error: null });
      putBack.run(seq);
      lanes.free(resource);
    }
    return leases.length;
  };
}
