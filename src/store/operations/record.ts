import { type Db, type Dialect, insert } from '../dialect.ts';
import type { VerifiedNotification } from '../stored.ts';

/** A notification that arrives. */
export interface Arrival extends VerifiedNotification {
  readonly receivedAt: number;
  /** how often it came; more than once where it waited in quarantine */
  readonly deliveries: number;
}

/** The lanes to be opened for events: each once, in the order of names, since when the first of its events has waited. */
export function lanesOf(events: readonly Pick<Arrival, 'resource' | 'receivedAt'>[]) {
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
  const older = `ON CONFLICT (resource) DO UPDATE SET ready_at =
    CASE WHEN excluded.ready_at < lanes.ready_at THEN excluded.ready_at ELSE lanes.ready_at END`;
  return insert(d, 'lanes', 'resource text, ready_at bigint', older);
}

/** The advisory locks by which the cursor of PostgreSQL works have this in their upper 16 bits, and a place in the others. */
export const PLACES = 0x686b;

/** The kinds that tell a channel's state. */
const STATES: Readonly<Record<string, string>> = { channel_active: 'active', channel_idle: 'idle' };

export function recordOperations(d: Dialect) {
  const cursorLock =
    d.hasLocks &&
    `SELECT pg_advisory_xact_lock_shared((${PLACES}::bigint << 48) + seq) FROM (${d.lastSeq}) l`;
  const add = insert(
    d,
    'events',
    'id text, kind text, webhook_id text, site_id text, resource text, event_time bigint, received_at bigint, body text, ' +
      'deliveries int, last_delivery_at bigint',
    'ON CONFLICT (id) DO NOTHING RETURNING id',
  );
  const open = openLanes(d);
  const lockRepeated = d.hasLocks && d.lock('events', 'id', 'id', 'ORDER BY seq FOR UPDATE');
  const repeat = d.over(`UPDATE events SET deliveries = deliveries + r.n, last_delivery_at = r.at
    FROM r(id text, n int, at bigint) WHERE events.id = r.id`);
  const tellChannel = insert(
    d,
    'channels',
    'resource text, site_id text, state text, since bigint, event text',
    `ON CONFLICT (resource) DO UPDATE SET site_id = excluded.site_id, state = excluded.state, since = excluded.since,
      event = excluded.event WHERE excluded.since >= channels.since`,
  );

  return {
    /** Records notifications; of one id the first is the event, the others are repeats. @returns for each whether it is new */
    async record(db: Db, { list }: { readonly list: readonly Arrival[] }): Promise<boolean[]> {
      // A reader of the cursor goes no further than the lowest of these.
      if (cursorLock) await db.all(cursorLock);
      const rows = list.map((one) => ({ ...one, lastDeliveryAt: one.receivedAt }));
      const inserted = await db.each<{ id: string }>(add, inOrder(rows, 'id'));
      const fresh = new Set(inserted.map(({ id }) => id));
      const isNew = list.map(({ id }) => fresh.delete(id));
      const added = list.filter((_, index) => isNew[index]);
      await db.each(open, lanesOf(added));
      await db.each(tellChannel, channelsOf(added));
      const repeats = repeatsOf(list.filter((_, index) => !isNew[index]));
      if (lockRepeated) await db.each(lockRepeated, repeats);
      await db.each(repeat, repeats);
      return isNew;
    },
  };
}

function repeatsOf(list: readonly Arrival[]) {
  const repeats = [...Map.groupBy(list, ({ id }) => id)].map(([id, some]) => ({
    id,
    n: some.reduce((sum, { deliveries }) => sum + deliveries, 0),
    at: Math.max(...some.map(({ receivedAt }) => receivedAt)),
  }));
  return inOrder(repeats, 'id');
}

/** The newest state of each channel, in the order of names. */
function channelsOf(list: readonly Arrival[]) {
  const told = list.filter(({ kind, resource }) => STATES[kind] && resource.startsWith('channel:'));
  const newest = new Map(inOrder(told, 'eventTime').map((one) => [one.resource, one]));
  const channels = inOrder([...newest.values()], 'resource');
  return channels.map((one) => ({ ...one, state: STATES[one.kind], since: one.eventTime, event: one.id }));
}
