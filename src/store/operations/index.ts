import { type Db, type Dialect, insert } from '../dialect.ts';
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

/** What a process counted in a minute: so many times it came to this result. */
export interface Stat {
  /** its begin, milliseconds since the epoch */
  readonly minute: number;
  readonly instance: string;
  /** of the event; empty where there is none */
  readonly kind: string;
  readonly result: string;
  readonly count: number;
  /** how long all of them took together, and the slowest one, milliseconds */
  readonly ms: number;
  readonly slowest: number;
}

/** Charts need an hour; the rest is for the queries of operators. */
const KEPT_MS = 8 * 86_400_000;

function statsOperations(d: Dialect) {
  const key = 'minute, instance, kind, result';
  const add = insert(
    d,
    'stats',
    'minute bigint, instance text, kind text, result text, count bigint, ms double precision, slowest double precision',
    `ON CONFLICT (${key}) DO UPDATE SET count = stats.count + excluded.count, ms = stats.ms + excluded.ms,
      slowest = CASE WHEN excluded.slowest > stats.slowest THEN excluded.slowest ELSE stats.slowest END`,
  );
  return {
    /** Adds to what the same instances counted in the same minutes, and removes what is older than eight days. */
    async addStats(
      db: Db,
      { list, now }: { readonly list: readonly Stat[]; readonly now: number },
    ): Promise<void> {
      await db.each(add, inOrder(list, 'minute'));
      await db.all('DELETE FROM stats WHERE minute < $before', { before: now - KEPT_MS });
    },
  };
}

/**
 * What changes the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
 * existing events by seq.
 */
export function operationsOf(d: Dialect) {
  const recording = recordOperations(d);
  const ping = `INSERT INTO meta (name, value) VALUES ('pings', '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + 1 AS text)`;
  return {
    ...recording,
    ...claimOperations(d),
    ...settleOperations(d),
    ...wakeOperations(d),
    ...pruneOperations(d),
    ...quarantineOperations(d, recording),
    ...secretOperations(d),
    ...statsOperations(d),
    /** Commits something: a page that does not change would not be written. */
    async ping(db: Db, _: object): Promise<void> {
      await db.all(ping);
    },
  };
}

export type Operations = ReturnType<typeof operationsOf>;

/** The operations whose commits need not be on disk: what a power cut takes of them runs again. */
export const RELAXED: ReadonlySet<string> = new Set<keyof Operations>(['claim', 'renew', 'wake', 'settle']);
