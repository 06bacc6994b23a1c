import { type Db, type Dialect, insert } from '../dialect.ts';

/** The lanes to be opened for events: each once, in the order of names, since when the first of its events has waited. */
export function lanesOf(events: readonly (Lane & { readonly receivedAt: number })[]) {
  const lanes = new Map<string, number>();
  for (const { resource, receivedAt } of events)
    lanes.set(resource, Math.min(receivedAt, lanes.get(resource) ?? receivedAt));
  const rows = [...lanes].map(([resource, readyAt]) => ({ resource, readyAt }));
  return inOrder(rows, 'resource');
}

/** Rows in the order in which they are locked. */
export function inOrder<K extends string, R extends Readonly<Record<K, string | number>>>(
  rows: readonly R[],
  key: K,
): R[] {
  return rows.toSorted((one, other) => (one[key] < other[key] ? -1 : one[key] > other[key] ? 1 : 0));
}

/** Lanes by their names: each once, in the order in which they are locked. */
export const named = (names: readonly string[]): Lane[] =>
  [...new Set(names)].sort().map((resource) => ({ resource }));

export type Lane = { readonly resource: string };

/** Opens lanes, or tells open ones of older work. It updates a lane that is there, so that this waits for whoever closes it just now. */
export function openLanes(d: Dialect): string {
  const older = `ON CONFLICT (resource) DO UPDATE SET over_limit = 0, ready_at =
    CASE WHEN excluded.ready_at < lanes.ready_at THEN excluded.ready_at ELSE lanes.ready_at END`;
  return insert(d, 'lanes', 'resource text, ready_at bigint', older);
}

/** What tells a claim from every other. */
export interface LeaseKey extends Lane {
  readonly lease: string;
  readonly seq: number;
}

/** A lane that is leased, by its columns LEASED. */
export interface LeasedLane extends Lane {
  readonly lease: string;
  readonly owner: string;
  readonly event: number;
  readonly startedAt: number;
  readonly late: number | undefined;
}

export const LEASED = 'resource, lease, owner, event, started_at, late';

/** Of the event of a lane that is next: the oldest ready one. */
export const firstReady = (what: string) =>
  `(SELECT e.${what} FROM events e WHERE e.resource = lanes.resource AND e.status = 'pending' AND e.next_at IS NULL
    ORDER BY e.event_time, e.seq LIMIT 1)`;

/** Frees lanes, or closes those in which nothing is ready. The caller has locked them. @returns the names of those that have more */
export function freeing(d: Dialect) {
  const close = d.over(
    'resource text',
    (r) => `DELETE FROM lanes ${r.using} WHERE ${r.is('lanes.resource', 'resource')}
    AND ${firstReady('seq')} IS NULL RETURNING lanes.resource`,
  );
  const free = d.over(
    'resource text',
    (r) => `UPDATE lanes SET
      lease = NULL, owner = NULL, until = NULL, event = NULL, started_at = NULL, late = NULL, over_limit = 0,
    ready_at = ${firstReady('received_at')} ${r.from} WHERE ${r.is('lanes.resource', 'resource')}`,
  );
  return async (db: Db, lanes: readonly Lane[]): Promise<Set<string>> => {
    const names = lanes.map(({ resource }) => resource);
    const closed = await db.each<Lane>(close, named(names));
    const more = new Set(names).difference(new Set(closed.map(({ resource }) => resource)));
    await db.each(free, named([...more]));
    return more;
  };
}
