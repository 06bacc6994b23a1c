import { type Db, type Dialect, insert, type Rows } from '../dialect.ts';
import type { Claim, ClaimRequest, Of, Settlement } from '../stored.ts';

/** Rows in the order in which they are locked. */
export function inOrder<K extends string, R extends Readonly<Record<K, string | number>>>(
  rows: readonly R[],
  key: K,
): R[] {
  return rows.toSorted((one, other) => (one[key] < other[key] ? -1 : one[key] > other[key] ? 1 : 0));
}

export type Lane = { readonly resource: string };

/** Of the rows of each lane the last, in the order in which lanes are locked. */
export const lastOfEach = <R extends Lane>(rows: readonly R[]): R[] =>
  inOrder([...new Map(rows.map((row) => [row.resource, row])).values()], 'resource');

/** Lanes by their names: each once, in the order in which they are locked. */
export const named = (names: readonly string[]): Lane[] =>
  lastOfEach(names.map((resource) => ({ resource })));

/** Whether a lane is that of a row. All rows of a statement are of one subscriber. */
export const isLane = (r: Rows<'resource'>) => `${r.is('lanes.resource')} AND lanes.subscriber = $subscriber`;

/** Locks the lanes of rows, and reads them. */
export const lockLanes = (d: Dialect, what = 'resource, lease, owner, event AS seq, started_at, late') =>
  d.lock('lanes', 'resource', what, 'resource', 'subscriber = $subscriber');

/**
 * Opens the lanes of events that become ready. A lane that is open already takes the earlier `ready_at`: since the upsert changes that lane,
 * it waits for a transaction that closes it just now.
 */
export function opening(d: Dialect) {
  const older = `ON CONFLICT (subscriber, resource) DO UPDATE SET over_limit = 0, ready_at =
    CASE WHEN excluded.ready_at < lanes.ready_at THEN excluded.ready_at ELSE lanes.ready_at END`;
  const open = insert(d, 'lanes', 'subscriber text, resource text, ready_at bigint', older);
  return async (db: Db, events: readonly (Lane & { readonly receivedAt: number })[], subscriber: string) => {
    const rows = events.map(({ resource, receivedAt }) => ({ subscriber, resource, readyAt: receivedAt }));
    await db.each(open, lastOfEach(inOrder(rows, 'readyAt').toReversed())); // the earliest of each lane
  };
}

/** The name of a claim: no other one has its lease. */
export type LeaseKey = Pick<Claim, 'lease' | 'resource' | 'seq'>;

/** A lane that is leased, as it is locked. */
export type LeasedLane = LeaseKey &
  Pick<ClaimRequest, 'owner'> &
  Pick<Settlement, 'startedAt'> & { readonly late: number | undefined };

/** A column of the oldest ready event of a lane, which runs next. */
export const firstReady = (what: string) =>
  `(SELECT e.${what} FROM events e WHERE e.subscriber = lanes.subscriber AND e.resource = lanes.resource
    AND e.status = 'pending' AND e.next_at IS NULL ORDER BY e.event_time, e.seq LIMIT 1)`;

/**
 * Frees lanes, or closes those in which nothing is ready. The caller has locked them; `overLimit` is the limit that the event of a lane is
 * over. The function returns the names of the lanes that have something ready.
 */
export function freeing(d: Dialect) {
  const r = d.rows('resource text, over_limit int');
  const close = `DELETE FROM lanes ${r.using} WHERE ${isLane(r)}
      AND ${firstReady('seq')} IS NULL ${d.changed('lanes.resource')}`;
  const free = `UPDATE lanes SET lease = NULL, owner = NULL, until = NULL, event = NULL, started_at = NULL,
      late = NULL, over_limit = ${r.over_limit}, ready_at = ${firstReady('received_at')}
    ${r.from} WHERE ${isLane(r)}`;
  return async (db: Db, lanes: readonly (Lane & { readonly overLimit?: number })[], of: Of) => {
    const rows = lanes.map(({ resource, overLimit = 0 }) => ({ resource, overLimit }));
    const left = new Map(lastOfEach(rows).map((row) => [row.resource, row]));
    for (const { resource } of await db.each<Lane>(close, [...left.values()], of)) left.delete(resource);
    await db.each(free, [...left.values()], of);
    return new Set(left.keys());
  };
}
