import type { Db, Dialect } from '../dialect.ts';
import { reportOperations } from '../lists/reports.ts';
import { claimOperations } from './claim.ts';
import { quarantineOperations } from './quarantine.ts';
import { inOrder, recordOperations } from './record.ts';
import { secretOperations } from './secrets.ts';
import { settleOperations } from './settle.ts';
import { wakeOperations } from './wake.ts';

function pruneOperations(d: Dialect) {
  const isPrunable = "ended_at IS NOT NULL AND body IS NOT NULL AND status <> 'dead' AND ended_at < $before";
  const find = `SELECT seq FROM events WHERE ${isPrunable} ORDER BY ended_at LIMIT $limit`;
  const empty = d.over(
    `UPDATE events SET body = NULL FROM r(seq bigint) WHERE events.seq = r.seq AND ${isPrunable} RETURNING events.seq AS event`,
  );
  const remove = (table: string) =>
    d.over(`DELETE FROM ${table} USING r(event bigint) WHERE ${table}.event = r.event`);
  const [attempts, steps] = [remove('attempts'), remove('steps')];
  return {
    /** Empties events that ended before a time, all or those in given places, and keeps their identities. @returns how many */
    async prune(
      db: Db,
      { before, limit, among }: { before: number; limit: number; among?: readonly number[] | undefined },
    ) {
      const rows = among?.map((seq) => ({ seq })) ?? (await db.all<{ seq: number }>(find, { before, limit }));
      const emptied = await db.each<{ event: number }>(empty, inOrder(rows, 'seq'), { before });
      await db.each(attempts, emptied);
      await db.each(steps, emptied);
      return emptied.length;
    },
  };
}

/**
 * What changes the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
 * existing events by seq.
 */
export function operationsOf(d: Dialect) {
  const recording = recordOperations(d);
  const ping = [
    // Who asks waits for a second: a command, or a stop, is not to wait for much longer.
    ...(d.hasLocks ? ["SET LOCAL lock_timeout = '1s'"] : []),
    "INSERT INTO events (id) SELECT '' WHERE false",
    "INSERT INTO lanes (resource) SELECT '' WHERE false",
    `INSERT INTO meta (name, value) VALUES ('pings', '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + 1 AS text)`,
  ];
  const pauseClaims = `INSERT INTO meta (name, value) VALUES ('paused', $value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  return {
    ...recording,
    ...claimOperations(d),
    ...settleOperations(d),
    ...wakeOperations(d),
    ...pruneOperations(d),
    ...quarantineOperations(d, recording),
    ...secretOperations(d),
    ...reportOperations(d),
    /**
     * Commits something: a page that does not change would not be written. It adds nothing to the tables of an ack, but waits for the
     * locks of others on them, in the order of an ack.
     */
    async ping(db: Db, _: object): Promise<void> {
      for (const sql of ping) await db.all(sql);
    },

    /** No claim leases anything from then on, in any process. @param value a `Pause` as JSON */
    async pause(db: Db, pause: { readonly value: string }): Promise<void> {
      await db.all(pauseClaims, pause);
    },

    /** @returns whether handling was paused */
    async resume(db: Db, _: object): Promise<boolean> {
      return (await db.all("DELETE FROM meta WHERE name = 'paused' RETURNING name")).length > 0;
    },
  };
}

export type Operations = ReturnType<typeof operationsOf>;

/** The operations whose commits need not be on disk: what a power cut takes of them runs again, or was never acknowledged. */
export const RELAXED: ReadonlySet<string> = new Set<keyof Operations>([
  'claim',
  'renew',
  'wake',
  'settle',
  'quarantine',
  'giveWay',
]);
