import type { Tally } from '../../event-search.ts';
import type { EventFilter, Status } from '../../event-store.ts';
import { onlyKind } from '../../filters.ts';
import { conditionOf } from '../tables/filter-sql.ts';
import { TAKEN } from '../tables/rows.ts';

/** The start of a search: behind an event, or at the newest. */
export interface Start {
  readonly seq: number;
  readonly time: number;
  readonly digest: Buffer;
}

export const NEWEST: Start = {
  seq: Number.MAX_SAFE_INTEGER,
  time: Number.MAX_SAFE_INTEGER,
  digest: Buffer.alloc(0),
};

export const OLDEST: Start = { seq: 0, time: Number.MIN_SAFE_INTEGER, digest: Buffer.alloc(0) };

type Params = Readonly<Record<string, unknown>>;

/** The rows that a search looks at: the numbers of events, newest first, at most `:reach`. */
export interface Candidates {
  readonly sql: string;
  readonly params: Params;
}

/**
 * The index along which a filter finds most in the fewest steps: without one that fits, a search for a handful among
 * millions would have to look at all of them.
 */
export function candidatesOf(
  filter: EventFilter,
  start: Start,
  tallies: readonly Tally[],
  reach: number,
): Candidates {
  if (filter.resource !== undefined) return byResource(filter.resource, start);
  const rarest = [byStatus(filter, start, tallies), byKind(filter, start, tallies)]
    .filter((candidates) => candidates !== undefined)
    .sort((one, other) => one.size - other.size)[0];
  const hasTimes = filter.since !== undefined || filter.until !== undefined;
  if (rarest && rarest.size <= reach) return hasTimes ? byTimeAmong(rarest, start) : rarest;
  return hasTimes ? byTime(filter, start) : (rarest ?? byArrival(start));
}

type Sized = Candidates & { readonly size: number };

/** How many events some of the tallies count. */
function sizeOf(tallies: readonly Tally[], isMeant: (tally: Tally) => boolean): number {
  return tallies.filter(isMeant).reduce((sum, { events }) => sum + events, 0);
}

function byArrival({ seq }: Start): Candidates {
  const sql = 'SELECT seq FROM ledger WHERE seq < :seq ORDER BY seq DESC LIMIT :reach';
  return { sql, params: { seq } };
}

function byStatus({ status }: EventFilter, { seq }: Start, tallies: readonly Tally[]): Sized | undefined {
  if (status === undefined || status === 'handled') return undefined;
  const size = sizeOf(tallies, (tally) => tally.status === status);
  if (status === 'running') {
    const sql = `SELECT event AS seq FROM lanes INDEXED BY lanes_leased
      WHERE event IS NOT NULL AND event < :seq ORDER BY event DESC LIMIT :reach`;
    return { sql, params: { seq }, size };
  }
  const sql =
    status === 'pending'
      ? withUntaken(
          'SELECT event AS seq FROM work WHERE event < :seq ORDER BY event DESC LIMIT :reach',
          'TRUE',
        )
      : `SELECT event AS seq FROM results INDEXED BY results_status
         WHERE status = :status AND status <> 'handled' AND event < :seq ORDER BY event DESC LIMIT :reach`;
  return { sql, params: status === 'pending' ? { seq } : { status, seq }, size };
}

function byKind(filter: EventFilter, { seq }: Start, tallies: readonly Tally[]): Sized | undefined {
  const kind = onlyKind(filter);
  if (kind === undefined) return undefined;
  const sql = withUntaken(
    'SELECT event AS seq FROM kinds WHERE kind = :kind AND event < :seq ORDER BY event DESC LIMIT :reach',
    'kind = :kind',
  );
  return { sql, params: { kind, seq }, size: sizeOf(tallies, (tally) => tally.kind === kind) };
}

/** Adds what is in the ledger only, and newer than all that was taken from it. */
function withUntaken(taken: string, where: string): string {
  return `SELECT seq FROM (
      SELECT * FROM (SELECT seq FROM ledger WHERE seq > ${TAKEN} AND seq < :seq AND ${where} ORDER BY seq DESC LIMIT :reach)
      UNION ALL SELECT * FROM (${taken}))
    ORDER BY seq DESC LIMIT :reach`;
}

function byTime({ since, until }: EventFilter, { time, digest }: Start): Candidates {
  const sql = `SELECT seq FROM ledger INDEXED BY ledger_identity
    WHERE event_time >= :since AND event_time < :until AND (event_time, digest) < (:time, :digest)
    ORDER BY event_time DESC, digest DESC LIMIT :reach`;
  const bounds = { since: since ?? Number.MIN_SAFE_INTEGER, until: until ?? Number.MAX_SAFE_INTEGER };
  return { sql, params: { ...bounds, time, digest } };
}

/** All of few, in the order of event times: they are sorted at each query. */
function byTimeAmong({ sql, params }: Candidates, { time, digest }: Start): Candidates {
  return {
    sql: `SELECT seq FROM (${sql}) CROSS JOIN ledger USING (seq) WHERE (event_time, digest) < (:time, :digest)
      ORDER BY event_time DESC, digest DESC LIMIT :reach`,
    params: { ...params, seq: NEWEST.seq, time, digest },
  };
}

function byResource(resource: string, { time, seq }: Start): Candidates {
  return { sql: resourceOrder({ order: 'DESC', from: '<' }), params: { resource, time, seq } };
}

/** One way along the events of a resource, by event time and then by arrival. */
export interface Direction {
  readonly order: 'ASC' | 'DESC';
  /** compares with the event that it starts from */
  readonly from: '<' | '<=' | '>' | '>=';
}

/**
 * The numbers of a resource's events in the order of their event times, as `:resource`, `:time`, `:seq` and `:reach`
 * say: what has ended, what is ready or runs, what waits, and what is in the ledger only. One index over all events would
 * cost every ack a write to a page that is not in memory.
 */
export function resourceOrder({ order, from }: Direction): string {
  const sorted = `ORDER BY event_time ${order}, seq ${order} LIMIT :reach`;
  const arm = (table: string, event: string, where: string) => `
    SELECT * FROM (SELECT ${event} AS seq, event_time FROM ${table}
      WHERE resource = :resource AND ${where} AND (event_time, ${event}) ${from} (:time, :seq)
      ORDER BY event_time ${order}, ${event} ${order} LIMIT :reach)`;
  return `
    SELECT seq FROM (
      ${arm('finished', 'event', 'TRUE')}
      UNION ALL ${arm('work INDEXED BY work_ready', 'event', 'next_attempt_at IS NULL')}
      UNION ALL ${arm('work INDEXED BY work_put_off', 'event', 'next_attempt_at IS NOT NULL')}
      UNION ALL ${arm('ledger NOT INDEXED', 'seq', `seq > ${TAKEN}`)})
    ${sorted}`;
}

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
  const { ids, resource, status } = filter;
  if (ids !== undefined) return fromIds(ids, start);
  if (resource !== undefined) return fromResource(resource, start);
  const isFew = (isMeant: (tally: Tally) => boolean) => sizeOf(tallies, isMeant) <= reach;
  if (status !== undefined && status !== 'handled' && isFew((tally) => tally.status === status)) {
    return sorted(ofStatus(status), start, status === 'pending' || status === 'running' ? {} : { status });
  }
  const kind = onlyKind(filter);
  if (kind !== undefined && isFew((tally) => tally.kind === kind)) {
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

/** Two indexes have the events of a resource that a replay may reset; see `resourceOrder`. */
function fromResource(resource: string, { time, digest }: Start): Candidates {
  const sql = `SELECT seq FROM (
      SELECT event FROM finished WHERE resource = :resource AND event_time >= :time
      UNION ALL SELECT event FROM work INDEXED BY work_put_off
        WHERE resource = :resource AND next_attempt_at IS NOT NULL AND event_time >= :time)
    CROSS JOIN ledger ON seq = event
    WHERE (ledger.event_time, digest) > (:time, :digest) ORDER BY ledger.event_time, digest LIMIT :reach`;
  return { sql, params: { resource, time, digest } };
}
