import type { Tally } from '../../event-search.ts';
import type { EventFilter } from '../../event-store.ts';
import { conditionOf } from '../operations/filter-sql.ts';
import { type Driver, type Start, sizeOf } from './driver.ts';

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
): Driver {
  const { ids, resource, status, kind } = filter;
  if (ids !== undefined) return fromIds(ids, start);
  if (resource !== undefined) return fromResource(resource, start);
  const isFew = (isMeant: (tally: Tally) => boolean) => sizeOf(tallies, isMeant) <= reach;
  if (status !== undefined && status !== 'handled' && isFew((tally) => tally.status === status)) {
    return sorted(`INDEXED BY events_status WHERE status = :status AND status <> 'handled'`, start, {
      status,
    });
  }
  if (typeof kind === 'string' && isFew((tally) => tally.kind === kind)) {
    return sorted('INDEXED BY events_kind WHERE kind = :kind', start, { kind });
  }
  const { since = OLDEST.time, until = Number.MAX_SAFE_INTEGER } = filter;
  const later = start.time < since ? { ...OLDEST, time: since } : start;
  return sorted('INDEXED BY events_identity WHERE event_time < :until', later, { until });
}

function sorted(where: string, { time, digest }: Start, params: Driver['params']): Driver {
  const sql = `SELECT seq FROM events ${where} AND (event_time, digest) > (:time, :digest)
    ORDER BY event_time, digest LIMIT :reach`;
  return { sql, params: { ...params, time, digest } };
}

function fromIds(ids: readonly string[], start: Start): Driver {
  const { sql, params } = conditionOf({ ids });
  return sorted(`WHERE ${sql.replace('?', ':ids')}`, start, { ids: params[0] });
}

/** Three partial indexes have the events of a resource that a replay may reset; see resource-order.ts. */
function fromResource(resource: string, { time, digest }: Start): Driver {
  const arm = (index: string, where: string) => `
    SELECT seq, event_time, digest FROM events INDEXED BY ${index}
    WHERE resource = :resource AND ${where} AND event_time >= :time`;
  const sql = `SELECT seq FROM (
      ${arm('events_handled', "status = 'handled'")}
      UNION ALL ${arm('events_given_up', "status IN ('skipped', 'dead')")}
      UNION ALL ${arm('events_put_off', 'next_attempt_at IS NOT NULL')})
    WHERE (event_time, digest) > (:time, :digest) ORDER BY event_time, digest LIMIT :reach`;
  return { sql, params: { resource, time, digest } };
}
