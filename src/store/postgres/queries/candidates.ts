import type { Tally } from '../../event-search.ts';
import type { EventFilter } from '../../event-store.ts';
import { hasTimes, onlyKind } from '../../filters.ts';
import { toText } from '../session.ts';
import { havingKind, havingStatus, NO_END, namedBy, type Params } from './filter.ts';
import { resourceOrder } from './resource-order.ts';

/** The start of a search: behind an event, or at the newest or oldest. */
export interface Start {
  readonly event: number;
  readonly event_time: number;
  readonly digest: Buffer;
}

export const NEWEST: Start = { event: NO_END, event_time: NO_END, digest: Buffer.alloc(0) };
export const OLDEST: Start = { event: 0, event_time: -NO_END, digest: Buffer.alloc(0) };

export interface Search {
  readonly filter: EventFilter;
  readonly start: Start;
  readonly tallies: readonly Tally[];
  readonly reach: number;
  readonly params: Params;
}

/** The events that a search looks at, in its order, at most as many as it reaches. */
export interface Candidates {
  readonly sql: string;
  /** the order, by columns that `sql` has */
  readonly order: string;
}

/** The events that have something in common, and about how many these are. */
interface Source {
  /** statements that together give them */
  readonly arms: (params: Params) => readonly string[];
  readonly size: number;
}

/**
 * The index along which a filter finds most in the fewest steps: without one that fits, a search for a handful among
 * millions would have to look at all of them.
 */
export function newestFirst(search: Search): Candidates {
  const { filter, reach } = search;
  if (filter.resource !== undefined) return byResource(filter.resource, search);
  const sources = [ofIds(filter), ofStatus(search), ofKind(search)].filter((one) => one !== undefined);
  const rarest = sources.sort((one, other) => one.size - other.size)[0];
  if (!hasTimes(filter)) return byEvent(rarest ?? ALL, search);
  return rarest && rarest.size <= reach ? amongFew(rarest, search, 'DESC') : byTime(search, 'DESC');
}

/** What a replay looks at, oldest event time first. */
export function oldestFirst(search: Search): Candidates {
  const source = [ofIds(search.filter), ofResource(search), ofStatus(search), ofKind(search)].find(
    (one) => one !== undefined && one.size <= search.reach,
  );
  return source ? amongFew(source, search, 'ASC') : byTime(search, 'ASC');
}

const ALL: Source = { arms: () => ['SELECT event FROM hookkit.ledger'], size: Number.POSITIVE_INFINITY };

function ofIds({ ids }: EventFilter): Source | undefined {
  return ids && { arms: (params) => [`SELECT event FROM (${namedBy(ids, params)}) AS named`], size: 0 };
}

function ofStatus({ filter: { status }, tallies }: Search): Source | undefined {
  if (status === undefined || status === 'handled') return undefined;
  const size = sizeOf(tallies, (tally) => tally.status === status);
  return { arms: (params) => havingStatus(status, params), size };
}

function ofKind({ filter, tallies }: Search): Source | undefined {
  const kind = onlyKind(filter);
  if (kind === undefined) return undefined;
  return {
    arms: (params) => havingKind(kind, params),
    size: sizeOf(tallies, (tally) => tally.kind === kind),
  };
}

/** What of a resource a replay may take has ended or waits: all of the time that it starts from, and enough of later ones. */
function ofResource({ filter: { resource, since }, start, reach }: Search): Source | undefined {
  if (resource === undefined) return undefined;
  const from = Math.max(start.event_time, since ?? start.event_time);
  const arms = (params: Params) => {
    const [name, time, most] = [params.of(toText(resource)), params.of(from), params.of(reach)];
    const tables = ['hookkit.results WHERE', 'hookkit.work WHERE next_attempt_at IS NOT NULL AND'];
    return tables.flatMap((table) => [
      `SELECT event FROM ${table} resource = ${name} AND event_time = ${time}`,
      `(SELECT event FROM ${table} resource = ${name} AND event_time > ${time}
        ORDER BY event_time FETCH FIRST (${most}) ROWS WITH TIES)`,
    ]);
  };
  return { arms, size: 0 };
}

/** How many events some of the tallies count. */
function sizeOf(tallies: readonly Tally[], isMeant: (tally: Tally) => boolean): number {
  return tallies.filter(isMeant).reduce((sum, { events }) => sum + events, 0);
}

function byEvent(source: Source, { start, reach, params }: Search): Candidates {
  const order = 'event DESC';
  // All are above 0, but a planner without statistics would sort the whole ledger: see NO_END.
  const rest = `WHERE event < ${params.of(start.event)} AND event > 0 ORDER BY ${order} LIMIT ${params.of(reach)}`;
  const arms = source.arms(params).map((arm) => `(SELECT event FROM (${arm}) AS arm ${rest})`);
  return { sql: `SELECT event FROM (${arms.join(' UNION ALL ')}) AS source ${rest}`, order };
}

type Way = 'ASC' | 'DESC';

/** All of few, which are sorted at each query. */
function amongFew(source: Source, search: Search, way: Way): Candidates {
  const { order, rest } = afterStart(search, way);
  const sql = `SELECT few.event, event_time, digest FROM (${source.arms(search.params).join(' UNION ALL ')}) AS few
    CROSS JOIN LATERAL (
      SELECT event_time, digest FROM hookkit.ledger WHERE ledger.event = few.event OFFSET 0) AS ledger
    WHERE ${rest}`;
  return { sql, order };
}

/** For many, the identity index has this order. */
function byTime(search: Search, way: Way): Candidates {
  const { order, rest } = afterStart(search, way);
  return { sql: `SELECT event, event_time, digest FROM hookkit.ledger WHERE ${rest}`, order };
}

/**
 * What comes after the start by event time, in that order, within the times of the filter. One time says where to begin: of two,
 * the index may take the one that is farther away. It is said twice, as a planner without statistics would otherwise sort the
 * whole ledger: see NO_END.
 */
function afterStart({ filter: { since, until }, start, reach, params }: Search, way: Way) {
  const order = `event_time ${way}, digest ${way}`;
  const [is, bound] = way === 'DESC' ? ['<', until] : ['>', since];
  const isBefore =
    bound !== undefined && (way === 'DESC' ? bound < start.event_time : bound > start.event_time);
  const time = params.of(isBefore ? bound : start.event_time);
  const digest = params.of(isBefore ? OLDEST.digest : start.digest);
  const end =
    way === 'DESC'
      ? `event_time >= ${params.of(since ?? -NO_END)}`
      : `event_time < ${params.of(until ?? NO_END)}`;
  const rest = `(event_time, digest) ${is} (${time}, ${digest}) AND event_time ${is}= ${time} AND ${end}
    ORDER BY ${order} LIMIT ${params.of(reach)}`;
  return { order, rest };
}

function byResource(resource: string, { start, reach, params }: Search): Candidates {
  const sql = resourceOrder({
    ...{ resource: params.of(toText(resource)), order: 'DESC', from: '<', limit: params.of(reach) },
    place: `(${params.of(start.event_time)}, ${params.of(start.event)})`,
  });
  return { sql, order: 'event_time DESC, event DESC' };
}
