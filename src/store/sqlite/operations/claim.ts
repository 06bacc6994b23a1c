import type { Database } from 'better-sqlite3';
import type { Claim, Claimed, ClaimRequest } from '../../event-store.ts';
import { type EventRow, toEvent } from './events-table.ts';
import { recoverLost } from './leases.ts';
import { resourceQueues } from './resource-queues.ts';
import { state } from './state-rows.ts';

type Request = ClaimRequest & { readonly now: number };

export function claim(db: Database): (request: Request) => Claimed {
  const queues = resourceQueues(db);
  const recover = recoverLost(db);
  const wake = wakeWaiting(db);
  const stateOf = state(db);
  const oldestQueues = freeQueues(db, 'ASC');
  const newestQueues = freeQueues(db, 'DESC');
  const oldestReady = db.prepare<[string], EventRow>(
    `SELECT * FROM events INDEXED BY events_ready
     WHERE resource = +? AND status = 'pending' AND next_attempt_at IS NULL ORDER BY event_time, seq LIMIT 1`,
  );
  const start = db.prepare(`UPDATE events SET status = 'running', attempts = ?, late = ? WHERE seq = ?`);
  const lease = db.prepare(
    'UPDATE lanes SET event = ?, owner = ?, lease_until = ?, started_at = ? WHERE resource = ?',
  );
  const newerHandled = db
    .prepare<[string, number], 1>(
      `SELECT 1 FROM events WHERE resource = ? AND event_time > ? AND status = 'handled' LIMIT 1`,
    )
    .pluck();
  const nextDue = db
    .prepare<[number], number | null>(
      `SELECT min(due) FROM (
         SELECT min(next_attempt_at) AS due FROM events WHERE next_attempt_at IS NOT NULL
         UNION ALL SELECT min(lease_until) FROM lanes WHERE event IS NOT NULL AND lease_until > ?)`,
    )
    .pluck();

  return ({ owner, limit, newest = 0, leaseMs, maxAttempts, spareLost, now }) => {
    if (!spareLost) recover({ owner, leaseMs, maxAttempts, now });
    wake(now);
    const claims: Claim[] = [];
    const take = (resource: string): void => {
      const ready = oldestReady.get(resource);
      if (!ready) {
        queues.free(resource); // the database was changed by hand; this corrects the queue
        return;
      }
      const late = ready.late ?? newerHandled.get(resource, ready.event_time) ?? 0;
      const row: EventRow = { ...ready, status: 'running', attempts: ready.attempts + 1, late };
      start.run(row.attempts, late, row.seq);
      lease.run(row.seq, owner, now + leaseMs, now, resource);
      claims.push({
        ...toEvent(row),
        body: row.body ?? '',
        startedAt: now,
        late: late === 1,
        state: stateOf(resource),
      });
    };
    oldestQueues.all(limit - newest).forEach(take);
    if (newest > 0) newestQueues.all(newest).forEach(take); // those that are still free
    return { claims, nextDueAt: nextDue.get(now) ?? undefined };
  };
}

/** The resource queues that have something ready and nothing running, by the event time of their oldest ready event. */
function freeQueues(db: Database, order: 'ASC' | 'DESC') {
  return db
    .prepare<[number], string>(
      `SELECT resource FROM lanes WHERE event IS NULL ORDER BY head ${order} LIMIT +?`,
    )
    .pluck();
}

const WAVE = 1000;

/** Makes the events ready whose next attempt is due; one step at a time, so that a large wave does not stall acks. */
function wakeWaiting(db: Database): (now: number) => void {
  const queues = resourceQueues(db);
  const due = db.prepare<[number], { seq: number; resource: string; event_time: number }>(
    `SELECT seq, resource, event_time FROM events
     WHERE next_attempt_at <= +? AND next_attempt_at IS NOT NULL ORDER BY next_attempt_at LIMIT ${WAVE}`,
  );
  const wake = db.prepare('UPDATE events SET next_attempt_at = NULL WHERE seq = ?');
  return (now) => {
    for (const { seq, resource, event_time } of due.all(now)) {
      wake.run(seq);
      queues.open(resource, event_time);
    }
  };
}
