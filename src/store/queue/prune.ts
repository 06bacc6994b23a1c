import type { Db, Dialect } from '../dialect.ts';
import { inOrder } from './lanes.ts';

export function pruneOperations(d: Dialect) {
  const isPrunable = "ended_at IS NOT NULL AND body IS NOT NULL AND status <> 'dead' AND ended_at < $before";
  const find = `SELECT seq FROM events WHERE ${isPrunable} ORDER BY ended_at LIMIT $limit`;
  const bySeq = d.rows('seq bigint');
  const empty = `UPDATE events SET body = NULL ${bySeq.from} WHERE ${bySeq.is('events.seq')} AND ${isPrunable}
    RETURNING events.seq AS event`;
  const byEvent = d.rows('event bigint');
  const forget = ['attempts', 'steps'].map(
    (table) => `DELETE FROM ${table} ${byEvent.using} WHERE ${byEvent.is(`${table}.event`)}`,
  );
  return {
    /** Empties events that ended before a time, all or those in given places, and keeps their identities. @returns how many */
    async prune(
      db: Db,
      { before, limit, among }: { before: number; limit: number; among?: readonly number[] | undefined },
    ) {
      const rows = among?.map((seq) => ({ seq })) ?? (await db.all<{ seq: number }>(find, { before, limit }));
      const emptied = await db.each<{ event: number }>(empty, inOrder(rows, 'seq'), { before });
      for (const sql of forget) await db.each(sql, emptied);
      return emptied.length;
    },
  };
}
