import type { Group, Route } from '../../semantics/search-route.ts';
import { toText } from '../session.ts';
import { havingKind, havingStatus, namedBy, type Params } from './filter.ts';
import { resourceOrder } from './resource-order.ts';

/** The events that a search looks at, in its order, at most as many as it reaches. */
export interface Candidates {
  readonly sql: string;
  /** the order, by columns that `sql` has */
  readonly order: string;
}

export function candidatesOf({ start, reach, ...route }: Route, params: Params): Candidates {
  const most = params.of(reach);
  if (route.order === 'time of a resource, newest first') {
    const place = `(${params.of(start.eventTime)}, ${params.of(start.event)})`;
    const along = { resource: params.of(toText(route.resource)), place, limit: most };
    return { sql: resourceOrder({ ...along, order: 'DESC' }), order: 'event_time DESC, event DESC' };
  }
  const arms = route.among && armsOf(route.among, params, most);
  if (route.order === 'receipt, newest first') {
    const order = 'event DESC';
    // All are above 0, but a planner without statistics would sort the whole ledger: see NO_END.
    const rest = `WHERE event < ${params.of(start.event)} AND event > 0 ORDER BY ${order} LIMIT ${most}`;
    const all = arms ?? ['SELECT event FROM hookkit.ledger'];
    const each = all.map((arm) => `(SELECT event FROM (${arm}) AS arm ${rest})`);
    return { sql: `SELECT event FROM (${each.join(' UNION ALL ')}) AS source ${rest}`, order };
  }
  const [way, is, end] = route.order === 'time, newest first' ? ['DESC', '<', '>='] : ['ASC', '>', '<'];
  const order = `event_time ${way}, digest ${way}`;
  const [time, digest] = [params.of(start.eventTime), params.of(start.digest)];
  // The time is said twice: a planner without statistics would otherwise sort the whole ledger, see NO_END.
  const rest = `(event_time, digest) ${is} (${time}, ${digest}) AND event_time ${is}= ${time}
    AND event_time ${end} ${params.of(route.end)} ORDER BY ${order} LIMIT ${most}`;
  const source = arms
    ? `(${arms.join(' UNION ALL ')}) AS few CROSS JOIN LATERAL (
        SELECT event, event_time, digest FROM hookkit.ledger WHERE ledger.event = few.event OFFSET 0) AS place`
    : 'hookkit.ledger AS place';
  return { sql: `SELECT place.event, event_time, digest FROM ${source} WHERE ${rest}`, order };
}

/** Statements that together give the events of a group. */
function armsOf(group: Group, params: Params, most: string): readonly string[] {
  switch (group.by) {
    case 'ids':
      return [`SELECT event FROM (${namedBy(group.ids, params)}) AS named`];
    case 'status':
      return havingStatus(group.status, params);
    case 'kind':
      return havingKind(group.kind, params);
    case 'resource': {
      const [name, time] = [params.of(toText(group.resource)), params.of(group.from)];
      const tables = ['hookkit.results WHERE', 'hookkit.work WHERE next_attempt_at IS NOT NULL AND'];
      return tables.flatMap((table) => [
        `SELECT event FROM ${table} resource = ${name} AND event_time = ${time}`,
        `(SELECT event FROM ${table} resource = ${name} AND event_time > ${time}
          ORDER BY event_time FETCH FIRST (${most}) ROWS WITH TIES)`,
      ]);
    }
  }
}
