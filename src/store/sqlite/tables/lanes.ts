import type { Database } from 'better-sqlite3';
import type { EventTables, Lease } from '../../driver.ts';
import { idOf, type WorkColumns, workOf } from './rows.ts';

type Lanes = Pick<
  EventTables,
  | 'openLanes'
  | 'freeLanes'
  | 'lease'
  | 'freeOrClose'
  | 'leases'
  | 'extendLeases'
  | 'shortenLeases'
  | 'lostLeases'
>;

type LeaseColumns = WorkColumns & { started_at: number };

export function laneTables(db: Database): Lanes {
  const open = db.prepare(
    `INSERT INTO lanes (resource, head) VALUES (?, ?)
     ON CONFLICT (resource) DO UPDATE SET head = excluded.head WHERE excluded.head < head`,
  );
  const inOrder = (order: 'ASC' | 'DESC') =>
    db
      .prepare<[number], string>(
        `SELECT resource FROM lanes WHERE event IS NULL ORDER BY head ${order} LIMIT +?`,
      )
      .pluck();
  const free = { oldest: inOrder('ASC'), newest: inOrder('DESC') };
  const lease = db.prepare(
    'UPDATE lanes SET event = ?, owner = ?, lease_until = ?, started_at = ? WHERE resource = ?',
  );
  const nextHead = db
    .prepare<[string], number>(
      `SELECT event_time FROM work INDEXED BY work_ready
       WHERE resource = +? AND next_attempt_at IS NULL ORDER BY event_time LIMIT 1`,
    )
    .pluck();
  const close = db.prepare('DELETE FROM lanes WHERE resource = ?');
  const end = db.prepare(
    'UPDATE lanes SET head = ?, event = NULL, owner = NULL, lease_until = NULL, started_at = NULL WHERE resource = ?',
  );
  const held = db.prepare<[string, string], LeaseColumns>(
    `SELECT work.*, lanes.started_at FROM lanes JOIN work ON work.event = lanes.event
     WHERE lanes.resource = +? AND lanes.owner = +?`,
  );
  const extend = db.prepare('UPDATE lanes SET lease_until = ? WHERE owner = ? AND event IS NOT NULL');
  const eventsOf = db.prepare<[string], { event_time: number; digest: Buffer }>(
    `SELECT ledger.event_time, ledger.digest FROM lanes JOIN ledger ON ledger.seq = lanes.event WHERE lanes.owner = ?`,
  );
  const shorten = db.prepare(
    `UPDATE lanes SET lease_until = :until
     WHERE event IS NOT NULL AND lease_until > +:until AND started_at > +:now AND owner <> :owner`,
  );
  const lost = db.prepare<[number, string], LeaseColumns>(
    `SELECT work.*, lanes.started_at FROM lanes JOIN work ON work.event = lanes.event
     WHERE lanes.event IS NOT NULL AND lanes.lease_until <= +? AND lanes.owner <> ?
     ORDER BY work.event_time, work.event`,
  );
  // The database was changed by hand: what ran is gone.
  const empty = db
    .prepare<[number], string>(
      `SELECT resource FROM lanes WHERE event IS NOT NULL AND lease_until <= +?
       AND NOT EXISTS (SELECT 1 FROM work WHERE work.event = lanes.event)`,
    )
    .pluck();
  const freeOrClose = (resource: string): void => {
    const head = nextHead.get(resource);
    if (head === undefined) close.run(resource);
    else end.run(head, resource);
  };
  const leaseOf = (row: LeaseColumns): Lease => ({ ...workOf(row), startedAt: row.started_at });
  return {
    openLanes: (events) => events.forEach(({ resource, eventTime }) => void open.run(resource, eventTime)),
    freeLanes: (order, limit) => free[order].all(limit),
    lease(leases) {
      for (const { event, resource, owner, until, startedAt } of leases)
        lease.run(event, owner, until, startedAt, resource);
    },
    freeOrClose: (resources) => resources.forEach(freeOrClose),
    leases: (asked) =>
      asked.map(({ resource, owner }) => {
        const row = held.get(resource, owner);
        return row && leaseOf(row);
      }),
    extendLeases(owner, until) {
      extend.run(until, owner);
      return eventsOf.all(owner).map(idOf);
    },
    shortenLeases: (owner, now, until) => void shorten.run({ owner, now, until }),
    lostLeases(owner, now) {
      empty.all(now).forEach(freeOrClose);
      return lost.all(now, owner).map(leaseOf);
    },
  };
}
