import type { Tally } from '../../event-search.ts';
import type { EventFilter, Status } from '../../event-store.ts';
import { conditionOf } from '../tables/filter-sql.ts';
import { type Candidates, type Start, sizeOf } from './candidates.ts';

export const OLDEST: Start = { seq: 0, time: Number.MIN_SAFE_INTEGER, digest: Buffer.alloc(0) };

/**
 * The rows that a replay looks at: the numbers of events, oldest event time first. Few rows are sorted at each query;
 * for many, the identity index has this order.
 */
export function oldestFirst(
  filter: EventFilter,
  start: Start,
  tallies: readonly Tally[],
  reach: number,
): Candidates {
  const { ids, resource, status, kind } = filter;
  if (ids !== undefined) return fromIds(ids, start);
  if (resource !== undefined) return fromResource(resource, start);
  const isFew = (isMeant: (tally: Tally) => boolean) => sizeOf(tallies, isMeant) <= reach;
  if (status !== undefined && status !== 'handled' && isFew((tally) => tally.status === status)) {
    return sorted(ofStatus(status), start, status === 'pending' || status === 'running' ? {} : { status });
  }
  if (typeof kind === 'string' && isFew((tally) => tally.kind === kind)) {
    return sorted('WHERE seq IN (SELECT event FROM kinds WHERE kind = :kind)', start, { kind });
  }
  const { since = OLDEST.time, until = Number.MAX_SAFE_INTEGER } = filter;
  const later = start.time < since ? { ...OLDEST, time: since } : start;
  return sorted('INDEXED BY ledger_identity WHERE event_time < :until', later, { until });
}

/** The rows of the ledger that have a status other than handled, and that a replay may take. */
function ofStatus(status: Exclude<Status, 'handled'>): string {
  return status === 'pending' || status === 'running'
    ? 'WHERE seq IN (SELECT event FROM work WHERE next_attempt_at IS NOT NULL)'
    : `WHERE seq IN (SELECT event FROM results INDEXED BY results_status WHERE status = :status AND status <> 'handled')`;
}

function sorted(where: string, { time, digest }: Start, params: Candidates['params']): Candidates {
  const sql = `SELECT seq FROM ledger ${where} AND (event_time, digest) > (:time, :digest)
    ORDER BY event_time, digest LIMIT :reach`;
  return { sql, params: { ...params, time, digest } };
}

function fromIds(ids: readonly string[], start: Start): Candidates {
  const { sql, params } = conditionOf({ ids });
  return sorted(`WHERE ${sql.replace('?', ':ids')}`, start, { ids: params[0] });
}

/** Two indexes have the events of a resource that a replay may reset; see resource-order.ts. */
function fromResource(resource: string, { time, digest }: Start): Candidates {
  const sql = `SELECT seq FROM (
      SELECT event FROM finished WHERE resource = :resource AND event_time >= :time
      UNION ALL SELECT event FROM work INDEXED BY work_put_off
        WHERE resource = :resource AND next_attempt_at IS NOT NULL AND event_time >= :time)
    CROSS JOIN ledger ON seq = event
    WHERE (ledger.event_time, digest) > (:time, :digest) ORDER BY ledger.event_time, digest LIMIT :reach`;
  return { sql, params: { resource, time, digest } };
}
