import { hash } from 'node:crypto';
import { type Db, type Dialect, insert } from '../dialect.ts';
import { inOrder } from '../queue/lanes.ts';
import { type Arrival, recordOperations } from '../queue/record.ts';
import { IS_OURS } from '../schema.ts';
import type { Giving, ToQuarantine } from '../stored.ts';

/** An entry that arrives. */
export interface Entry extends ToQuarantine {
  /** of the whole token, in hexadecimal */
  readonly digest: string;
  readonly network: string;
  readonly bytes: number;
  readonly receivedAt: number;
}

/** Which entries to remove for good: those that came before a time, of one webhook or all. */
export interface Dropping {
  readonly before: number;
  readonly webhook?: string | undefined;
}

/** The name of an entry. */
export const digestOf = (token: string) => hash('sha256', token);

/** How many entries are dropped in one commit. */
export const DROPPED = 500;

export function quarantineOperations(d: Dialect) {
  const { record } = recordOperations(d);
  const add = insert(
    d,
    'quarantine',
    'digest text, id text, kind text, webhook_id text, site_id text, resource text, event_time bigint, received_at bigint, ' +
      'body text, token text, source text, network text, bytes int',
    'ON CONFLICT (digest) DO UPDATE SET deliveries = quarantine.deliveries + 1',
  );
  // Its webhook may have got a secret since the entry was chosen.
  const giving = d.rows('seq bigint, is_ours int');
  const giveWay = `DELETE FROM quarantine ${giving.using} WHERE ${giving.is('quarantine.seq')}
    AND (${giving.is_ours} = 1 OR NOT ${IS_OURS}) RETURNING quarantine.seq`;
  const addLost = `INSERT INTO meta (name, value) VALUES ('quarantine_lost', $n)
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + CAST($n AS bigint) AS text)`;
  const takeOut = `DELETE FROM quarantine WHERE digest = $digest
    RETURNING id, kind, webhook_id, site_id, resource, event_time, received_at, body, deliveries`;

  const drop = `DELETE FROM quarantine WHERE seq IN (SELECT seq FROM quarantine
    WHERE webhook_id = coalesce($webhook, webhook_id) AND received_at < $before ORDER BY seq LIMIT ${DROPPED}) RETURNING seq`;

  return {
    /** Keeps entries, each once. */
    async keep(db: Db, { list }: { list: readonly Entry[] }): Promise<void> {
      for (const entry of list) await db.each(add, [entry]);
    },

    /** Removes entries to make room. @returns how many were still there */
    async giveWay(db: Db, { list }: { list: readonly Giving[] }): Promise<number> {
      return (await db.each(giveWay, inOrder(list, 'seq'))).length;
    },

    /** Counts lost notifications: entries that were deleted to make room, and notifications that were never stored. */
    async countLost(db: Db, { n }: { n: number }): Promise<void> {
      await db.all(addLost, { n: String(n) });
    },

    /** Removes the oldest entries of a webhook, or of all, that came before a time. @returns how many */
    async drop(db: Db, which: Dropping) {
      return (await db.all(drop, which)).length;
    },

    /** Moves an entry to the events with all its deliveries. @returns whether it is new there; undefined if it is not in quarantine */
    async admit(db: Db, { token }: { readonly token: string }) {
      const [entry] = await db.all<Arrival>(takeOut, { digest: digestOf(token) });
      if (!entry) return undefined;
      const [isNew = false] = await record(db, { list: [entry] });
      return { isNew, id: entry.id };
    },
  };
}
