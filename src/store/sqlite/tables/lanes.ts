import type { Database } from 'better-sqlite3';
import type { LaneTables, Lease } from '../../driver.ts';
import { headOf, LOOKED_AT, REPLAYS_FROM } from '../../semantics/lane-order.ts';
import { idOf, type WorkColumns, workOf } from './rows.ts';

type LeaseColumns = WorkColumns & { owner: string; started_at: number };

/** Leases of an owner, and some events as JSON. */
interface Asked {
  readonly owner: string;
  readonly events: string | null;
}

/**
 * The head of a lane; see semantics/lane-order.ts.
 * @param lowest the least head that the lane can have, or had: where that is a replay's, none of its events is looked for that is none
 * @param of what stands before the names of the tables
 */
export const HEAD_OF = (resource: string, lowest: string, of = '') =>
  `SELECT iif(work.replays = 0, ifnull(received_at, work.event_time),
     ifnull(iif(${lowest} < ${REPLAYS_FROM}, (${LIVE_OF(resource, of)}), NULL), ${REPLAYS_FROM} + work.event_time))
   FROM ${of}work AS work INDEXED BY work_ready LEFT JOIN ${of}ledger AS ledger ON ledger.seq = work.event
   WHERE work.resource = ${resource} AND next_attempt_at IS NULL ORDER BY work.event_time, work.event LIMIT 1`;

const LIVE_OF = (resource: string, of: string) =>
  `SELECT ifnull((SELECT received_at FROM ${of}ledger AS ledger WHERE ledger.seq = last.event), last.event_time)
   FROM (SELECT event, event_time, replays FROM ${of}work AS work INDEXED BY work_ready
     WHERE work.resource = ${resource} AND next_attempt_at IS NULL
     ORDER BY event_time DESC, event DESC LIMIT ${LOOKED_AT}) AS last
   WHERE last.replays = 0 ORDER BY last.event_time, last.event LIMIT 1`;

/** The head of a free lane in which an event became ready. */
const OPENED = HEAD_OF('lanes.resource', 'min(lanes.head, excluded.head)');

export function laneTables(db: Database): LaneTables {
  const open = db.prepare(
    `INSERT INTO lanes (resource, head) VALUES (?, ?)
     ON CONFLICT (resource) DO UPDATE SET head = iif(event IS NULL, (${OPENED}), excluded.head)
     WHERE head <> excluded.head AND iif(event IS NULL, head <> (${OPENED}), excluded.head < head)`,
  );
  const inOrder = (among: '<' | '>=', order: 'ASC' | 'DESC') =>
    db
      .prepare<[number], string>(
        `SELECT resource FROM lanes WHERE event IS NULL AND head ${among} ${REPLAYS_FROM} ORDER BY head ${order} LIMIT +?`,
      )
      .pluck();
  const free = {
    oldest: inOrder('<', 'ASC'),
    newest: inOrder('<', 'DESC'),
    replayed: inOrder('>=', 'ASC'),
  };
  const lease = db.prepare(
    'UPDATE lanes SET event = ?, owner = ?, lease_until = ?, started_at = ? WHERE resource = ?',
  );
  const nextHead = db
    .prepare<[{ readonly resource: string }], number>(
      HEAD_OF('+:resource', '(SELECT head FROM lanes WHERE lanes.resource = +:resource)'),
    )
    .pluck();
  const close = db.prepare('DELETE FROM lanes WHERE resource = ?');
  const end = db.prepare(
    'UPDATE lanes SET head = ?, event = NULL, owner = NULL, lease_until = NULL, started_at = NULL WHERE resource = ?',
  );
  const held = db.prepare<[string, string], LeaseColumns>(
    `SELECT work.*, lanes.owner, lanes.started_at FROM lanes JOIN work ON work.event = lanes.event
     WHERE lanes.resource = +? AND lanes.owner = +?`,
  );
  const extend = db
    .prepare<[Asked & { readonly until: number }], number>(
      `UPDATE lanes SET lease_until = :until
       WHERE owner = :owner AND event IS NOT NULL AND (:events IS NULL OR event IN (SELECT value FROM json_each(:events)))
       RETURNING event`,
    )
    .pluck();
  const idOfEvent = db.prepare<[number], { event_time: number; digest: Buffer }>(
    'SELECT event_time, digest FROM ledger WHERE seq = ?',
  );
  const shorten = db.prepare(
    `UPDATE lanes SET lease_until = :until
     WHERE event IS NOT NULL AND lease_until > +:until AND started_at > +:now AND owner <> :owner`,
  );
  const lost = db.prepare<[Asked & { readonly now: number }], LeaseColumns>(
    `SELECT work.*, lanes.owner, lanes.started_at FROM lanes JOIN work ON work.event = lanes.event
     WHERE lanes.event IS NOT NULL AND lanes.lease_until <= +:now
       AND (lanes.owner <> :owner OR lanes.event NOT IN (SELECT value FROM json_each(:events)) AND :events IS NOT NULL)
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
    const head = nextHead.get({ resource });
    if (head === undefined) close.run(resource);
    else end.run(head, resource);
  };
  const leaseOf = (row: LeaseColumns): Lease => ({
    ...workOf(row),
    owner: row.owner,
    startedAt: row.started_at,
  });
  return {
    openLanes: (events) => events.forEach((event) => void open.run(event.resource, headOf(event))),
    freeLanes: (which, limit) => free[which].all(limit),
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
    extendLeases: (owner, until, among) =>
      extend
        .all({ until, owner, events: jsonOf(among) })
        .flatMap((event) => idOfEvent.all(event))
        .map(idOf),
    shortenLeases: (owner, now, until) => void shorten.run({ owner, now, until }),
    lostLeases(owner, now, has) {
      empty.all(now).forEach(freeOrClose);
      return lost.all({ now, owner, events: jsonOf(has) }).map(leaseOf);
    },
  };
}

function jsonOf(events: readonly number[] | undefined): string | null {
  return events ? JSON.stringify(events) : null;
}
