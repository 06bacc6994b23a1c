import type { Database } from 'better-sqlite3';
import type { Claim, Claimed, ClaimRequest } from '../../event-store.ts';
import { type EventRow, toEvent } from './event-rows.ts';
import { recoverLost } from './recover.ts';
import { lanesOf } from './resource-queues.ts';
import { wakeWaiting } from './waiting.ts';

type Request = ClaimRequest & { readonly now: number };

export function claim(db: Database): (request: Request) => Claimed {
  const lanes = lanesOf(db);
  const recover = recoverLost(db);
  const wake = wakeWaiting(db);
  const freeLanes = db
    .prepare<[number], string>('SELECT resource FROM lanes WHERE event IS NULL ORDER BY head LIMIT +?')
    .pluck();
  const oldestReady = db.prepare<[string], EventRow>(
    `SELECT * FROM events INDEXED BY events_ready
     WHERE resource = +? AND status = 'pending' AND next_attempt_at IS NULL ORDER BY event_time, seq LIMIT 1`,
  );
  const start = db.prepare(`UPDATE events SET status = 'running', attempts = ? WHERE seq = ?`);
  const lease = db.prepare(
    'UPDATE lanes SET event = ?, owner = ?, lease_until = ?, started_at = ? WHERE resource = ?',
  );
  const newerHandled = db
    .prepare<[string, number], number>(
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

  return ({ owner, limit, leaseMs, maxAttempts, spareLost, now }) => {
    if (!spareLost) recover({ owner, leaseMs, maxAttempts, now });
    wake(now);
    const claims: Claim[] = [];
    for (const resource of freeLanes.all(limit)) {
      const ready = oldestReady.get(resource);
      if (!ready) {
        lanes.free(resource); // somebody changed the database by hand; the lane is put right
        continue;
      }
      const row: EventRow = { ...ready, status: 'running', attempts: ready.attempts + 1 };
      start.run(row.attempts, row.seq);
      lease.run(row.seq, owner, now + leaseMs, now, resource);
      const late = newerHandled.get(resource, row.event_time) === 1;
      claims.push({ ...toEvent(row), body: row.body ?? '', startedAt: now, late });
    }
    return { claims, nextDueAt: nextDue.get(now) ?? undefined };
  };
}
