import { type Db, type Dialect, insert, one } from '../dialect.ts';
import type { ToQuarantine } from '../stored.ts';
import type { Arrival, recordOperations } from './record.ts';

/** An entry that arrives. */
export interface Entry extends ToQuarantine {
  /** of the whole token, in hexadecimal */
  readonly digest: string;
  readonly network: string;
  readonly bytes: number;
  readonly receivedAt: number;
}

/** Of what holds most when the quarantine is full, such a part goes. */
const GIVES_WAY = 20;

export function quarantineOperations(d: Dialect, { record }: ReturnType<typeof recordOperations>) {
  const add = insert(
    d,
    'quarantine',
    'digest text, id text, kind text, webhook_id text, site_id text, resource text, event_time bigint, received_at bigint, ' +
      'body text, token text, source text, network text, bytes int',
    'ON CONFLICT (digest) DO UPDATE SET deliveries = quarantine.deliveries + 1',
  );
  const size = 'SELECT coalesce(sum(bytes), 0) AS bytes FROM quarantine';
  const sums = (column: string) =>
    `SELECT '${column}' AS what, ${column} AS name, sum(bytes) AS bytes, count(*) AS entries FROM quarantine GROUP BY ${column}`;
  const largest = `SELECT * FROM (${sums('network')} UNION ALL ${sums('webhook_id')}) s ORDER BY bytes DESC, what LIMIT 1`;
  const giveWay = (column: string) =>
    `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine WHERE ${column} = $name ORDER BY seq DESC LIMIT $limit)
     RETURNING seq`;
  const addLost = `INSERT INTO meta (name, value) VALUES ('quarantine_lost', $n)
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + CAST($n AS bigint) AS text)`;
  const takeOut = d.over(`DELETE FROM quarantine USING r(digest text) WHERE quarantine.digest = r.digest
    RETURNING id, kind, webhook_id, site_id, resource, event_time, received_at, body, deliveries`);

  const drop = `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine
    WHERE webhook_id = coalesce($webhook, webhook_id) AND received_at < $before ORDER BY seq LIMIT $limit) RETURNING seq`;

  /** Makes room by the newest entries of the network or webhook that holds most. @returns how many went */
  const makeRoom = async (db: Db, maxBytes: number): Promise<number> => {
    let lost = 0;
    for (;;) {
      const { bytes } = await one<{ bytes: number }>(db, size);
      if (bytes <= maxBytes) return lost;
      const most = await one<{ what: string; name: string; entries: number }>(db, largest);
      const limit = Math.ceil(most.entries / GIVES_WAY);
      lost += (await db.all(giveWay(most.what), { name: most.name, limit })).length;
    }
  };

  return {
    /** Keeps entries, each once. Without `maxBytes` there is room, as far as the caller knows. @returns how many were lost, with the first */
    async quarantine(db: Db, { list, maxBytes }: { list: readonly Entry[]; maxBytes?: number | undefined }) {
      for (const entry of list) await db.each(add, [entry]);
      const lost = maxBytes === undefined ? 0 : await makeRoom(db, maxBytes);
      return list.map((_, index) => (index === 0 ? lost : 0));
    },

    /** Counts notifications that were lost: those that gave way, and those that never came to the quarantine. */
    async countLost(db: Db, { n }: { n: number }): Promise<void> {
      await db.all(addLost, { n: String(n) });
    },

    /** Removes the oldest entries of a webhook, or of all, that came before a time. @returns how many */
    async drop(db: Db, which: { webhook?: string | undefined; before: number; limit: number }) {
      return (await db.all(drop, which)).length;
    },

    /** Moves an entry to the events with all its deliveries. @returns whether it is new there; undefined if it is not in quarantine */
    async admit(db: Db, token: { readonly digest: string }) {
      const [entry] = await db.each<Arrival>(takeOut, [token]);
      if (!entry) return undefined;
      const [isNew = false] = await record(db, { list: [entry] });
      return { isNew, id: entry.id, resource: entry.resource };
    },
  };
}
