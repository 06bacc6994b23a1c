import { hash } from 'node:crypto';
import { type Db, type Dialect, insert } from '../dialect.ts';
import { inOrder } from '../queue/lanes.ts';
import type { Recorded } from '../queue/queue.ts';
import { type Arrival, recordOperations } from '../queue/record.ts';
import type { Quarantined, ToQuarantine } from '../stored.ts';

/** An entry that arrives, with the network of its source, and the bytes that it takes. */
export type Entry = ToQuarantine &
  Pick<Quarantined, 'receivedAt'> & { readonly network: string; readonly bytes: number };

/** How many entries are dropped in one commit. */
export const DROPPED = 500;

/** The name of an entry. */
const digestOf = (token: string) => hash('sha256', token);

export function quarantineOperations(d: Dialect) {
  const { record } = recordOperations(d);
  const columns =
    'digest text, id text, kind text, webhook_id text, site_id text, resource text, event_time bigint, received_at bigint, ' +
    'body text, token text, source text, network text, bytes int';
  const repeated = 'ON CONFLICT (digest) DO UPDATE SET deliveries = quarantine.deliveries + 1';
  const add = insert(d, 'quarantine', columns, repeated);
  const giving = d.rows('seq bigint');
  const giveWay = `DELETE FROM quarantine ${giving.using} WHERE ${giving.is('quarantine.seq')} RETURNING quarantine.seq`;
  const addLost = `INSERT INTO meta (name, value) VALUES ('quarantine_lost', $n)
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + CAST($n AS bigint) AS text)`;
  const takeOut = `DELETE FROM quarantine WHERE digest = $digest
    RETURNING id, kind, webhook_id, site_id, resource, event_time, received_at, body, deliveries`;
  const drop = `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine
    WHERE webhook_id = coalesce($webhook, webhook_id) AND received_at < $before ORDER BY seq LIMIT ${DROPPED}) RETURNING seq`;

  return {
    /** Keeps entries, each once. */
    async keep(db: Db, { list }: { list: readonly Entry[] }): Promise<void> {
      for (const entry of list) await db.each(add, [{ ...entry, digest: digestOf(entry.token) }]);
    },

    /** Removes entries to make room. @returns how many were still there */
    async giveWay(db: Db, { list }: { list: readonly { seq: number }[] }): Promise<number> {
      return (await db.each(giveWay, inOrder(list, 'seq'))).length;
    },

    /** Counts lost notifications: entries that were deleted to make room, and notifications that were never stored. */
    async countLost(db: Db, { n }: { n: number }): Promise<void> {
      await db.all(addLost, { n: String(n) });
    },

    /** Removes the oldest entries of a webhook, or of all, that came before a time. @returns how many */
    async drop(db: Db, which: { readonly before: number; readonly webhook?: string | undefined }) {
      return (await db.all(drop, which)).length;
    },

    /** Moves an entry to the events with all its deliveries. Undefined if it is not there: another process may have been first. */
    async admit(db: Db, { token }: { readonly token: string }): Promise<Recorded | undefined> {
      const [entry] = await db.all<Arrival>(takeOut, { digest: digestOf(token) });
      if (!entry) return undefined;
      const [isNew] = await record(db, { list: [entry] });
      return { status: isNew ? 'accepted' : 'duplicate', id: entry.id };
    },
  };
}
