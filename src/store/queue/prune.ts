import type { Logger } from 'pino';
import { type Clock, repeat } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Db, Dialect } from '../dialect.ts';
import { inOrder } from './lanes.ts';

const DAY_MS = 86_400_000;
/** For so long after its end, retention leaves an event that a subscriber was not given yet. */
const HELD_BACK_MS = 30 * DAY_MS;

/** Statements that delete the attempts and steps of events. */
export function forgettingRuns(d: Dialect): string[] {
  const r = d.rows('seq bigint');
  return ['attempts', 'steps'].map(
    (table) => `DELETE FROM ${table} ${r.using} WHERE ${r.is(`${table}.event`, 'seq')}`,
  );
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
  const forget = forgettingRuns(d);
  return {
    /** Empties events that ended before a time, all or those in given places, and keeps their identities. @returns how many */
    async prune(
      db: Db,
      { among, ...which }: Record<'before' | 'limit' | 'now', number> & { among?: number[] },
    ) {
      const rows = among?.map((seq) => ({ seq })) ?? (await db.all<{ seq: number }>(find, which));
      const emptied = await db.each<{ seq: number }>(empty, inOrder(rows, 'seq'), which);
      for (const sql of forget) await db.each(sql, emptied);
      return emptied.length;
    },
  };
}

const ROUND_MS = 3_600_000;
/** Small steps with pauses between them, so that they hardly delay acks. */
const STEP = 200;
const PAUSE_MS = 50;

interface Retention {
  readonly store: { readonly queue: { prune(which: Record<'before' | 'limit', number>): Promise<number> } };
  readonly clock: Clock;
  readonly log: Logger;
  readonly days: number;
}

/** Prunes events that ended more than `days` ago, now and every hour. @returns a function that stops it */
export function keepFor({ store, clock, log, days }: Retention): () => void {
  let total = 0;
  return repeat(clock, 0, async () => {
    const before = clock.now() - days * DAY_MS;
    const pruned = await store.queue.prune({ before, limit: STEP }).catch((error) => {
      log.error({ error: messageOf(error) }, 'cannot prune; trying again in an hour');
      return 0;
    });
    total += pruned;
    if (pruned === STEP) return PAUSE_MS;
    if (total > 0) log.info({ pruned: total, days }, 'old events pruned');
    total = 0;
    return ROUND_MS;
  });
}
