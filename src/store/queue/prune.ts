import type { Db, Dialect } from '../dialect.ts';
import { inOrder } from './lanes.ts';

/** For so long after its end, retention leaves an event that a subscriber was not given yet. */
const HELD_BACK_MS = 30 * 86_400_000;

export interface Pruning {
  readonly before: number;
  readonly limit: number;
  readonly among?: readonly number[] | undefined;
}

export function pruneOperations(d: Dialect) {
  // A subscriber may not have been given it yet; it holds nothing back for longer than 30 days.
  const isGiven = `(events.subscriber <> '' OR ended_at < $now - ${HELD_BACK_MS}
    OR events.seq <= coalesce((SELECT min(place) FROM subscribers), events.seq))`;
  const isPrunable = `ended_at IS NOT NULL AND body IS NOT NULL AND status <> 'dead' AND ended_at < $before AND ${isGiven}`;
  const find = `SELECT seq FROM events WHERE ${isPrunable} ORDER BY ended_at LIMIT $limit`;
  const bySeq = d.rows('seq bigint');
  const empty = `UPDATE events SET body = NULL ${bySeq.from} WHERE ${bySeq.is('events.seq')} AND ${isPrunable}
    RETURNING events.seq`;
  const forget = ['attempts', 'steps'].map(
    (table) => `DELETE FROM ${table} ${bySeq.using} WHERE ${bySeq.is(`${table}.event`, 'seq')}`,
  );
  return {
    /** Empties events that ended before a time, all or those in given places, and keeps their identities. @returns how many */
    async prune(db: Db, { among, ...which }: Pruning & { readonly now: number }) {
      const rows = among?.map((seq) => ({ seq })) ?? (await db.all<{ seq: number }>(find, which));
      const emptied = await db.each<{ seq: number }>(empty, inOrder(rows, 'seq'), which);
      for (const sql of forget) await db.each(sql, emptied);
      return emptied.length;
    },
  };
}
