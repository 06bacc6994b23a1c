import { type Db, type Dialect, insert } from '../dialect.ts';
import type { StoredEvent, VerifiedNotification } from '../stored.ts';
import { inOrder, lastOfEach, opening } from './lanes.ts';

/** Something to record. Without an origin, the provider has sent it. */
export type Recordable = VerifiedNotification & Partial<Pick<StoredEvent, 'origin'>>;

/** A notification that arrives: it came more than once where it waited in quarantine. */
export type Arrival = Recordable & Pick<StoredEvent, 'receivedAt' | 'deliveries'>;

/** On PostgreSQL, a transaction that inserts events holds an advisory lock: its key is PLACES << 48 | the last seq before them. */
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
    'id text, origin text, kind text, webhook_id text, site_id text, resource text, event_time bigint, received_at bigint, ' +
      'body text, request text, trace text, deliveries int, last_delivery_at bigint',
    `ON CONFLICT (id) DO NOTHING ${d.changed('id')}`,
  );
  const open = opening(d);
  const lockRepeated = d.hasLocks && d.lock('events', 'id', 'id', 'seq');
  const r = d.rows('id text, deliveries int, last_delivery_at bigint');
  const repeat = `UPDATE events SET deliveries = events.deliveries + ${r.deliveries}, last_delivery_at = ${r.last_delivery_at}
    ${r.from} WHERE ${r.is('events.id')}`;
  const tellChannel = insert(
    d,
    'channels',
    'resource text, site_id text, state text, since bigint, event text',
    `ON CONFLICT (resource) DO UPDATE SET site_id = excluded.site_id, state = excluded.state, since = excluded.since,
      event = excluded.event WHERE excluded.since >= channels.since`,
  );

  const ping = [
    // A ping waits for 1 s at most, so that a probe, a command or a stop that asks does not wait for longer.
    ...(d.hasLocks ? ["SET LOCAL lock_timeout = '1s'"] : []),
    "INSERT INTO events (id) SELECT '' WHERE false",
    "INSERT INTO lanes (resource) SELECT '' WHERE false",
    `INSERT INTO meta (name, value) VALUES ('pings', '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + 1 AS text)`,
  ];

  return {
    /** Records notifications; of one id the first is the event, the others are repeats. @returns for each whether it is new */
    async record(db: Db, { list }: { readonly list: readonly Arrival[] }): Promise<boolean[]> {
      // A reader (`lastSeq`) stops at the lowest seq of these locks: events with a higher one may still commit.
      if (cursorLock) await db.all(cursorLock);
      const events = inOrder([...Map.groupBy(list, ({ id }) => id).values()].flatMap(togetherOf), 'id');
      const fresh = new Set((await db.each<{ id: string }>(add, events)).map(({ id }) => id));
      const added = events.filter(({ id }) => fresh.has(id));
      await open(db, added, '');
      await db.each(tellChannel, channelsOf(added));
      const known = events.filter(({ id }) => !fresh.has(id));
      const repeats = known.map(({ id, deliveries, lastDeliveryAt }) => ({ id, deliveries, lastDeliveryAt }));
      if (lockRepeated) await db.each(lockRepeated, repeats);
      await db.each(repeat, repeats);
      return list.map(({ id }) => fresh.delete(id));
    },

    /**
     * Commits a count, as SQLite writes no page that does not change. It adds no row to the tables that an ack writes to, but takes the
     * same locks on them, in the same order.
     */
    async ping(db: Db): Promise<void> {
      for (const sql of ping) await db.all(sql);
    },
  };
}

/** What arrives of one event, as the first of it with the deliveries of all. */
function togetherOf(some: readonly Arrival[]): (Arrival & Pick<StoredEvent, 'lastDeliveryAt'>)[] {
  const deliveries = some.reduce((sum, one) => sum + one.deliveries, 0);
  const lastDeliveryAt = Math.max(...some.map(({ receivedAt }) => receivedAt));
  return some.slice(0, 1).map((first) => ({ origin: 'notification', ...first, deliveries, lastDeliveryAt }));
}

/** The newest state of each channel, in the order of names. */
function channelsOf(list: readonly Arrival[]) {
  const told = list.filter(({ kind, resource }) => STATES[kind] && resource.startsWith('channel:'));
  const newest = lastOfEach(inOrder(told, 'eventTime'));
  return newest.map((one) => ({ ...one, state: STATES[one.kind], since: one.eventTime, event: one.id }));
}
