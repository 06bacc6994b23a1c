import type { Tally } from '../../event-search.ts';
import type { EventFilter } from '../../event-store.ts';
import { TAKEN } from '../tables/events-view.ts';
import { resourceOrder } from './resource-order.ts';

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
export function sizeOf(tallies: readonly Tally[], isMeant: (tally: Tally) => boolean): number {
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

function byKind({ kind }: EventFilter, { seq }: Start, tallies: readonly Tally[]): Sized | undefined {
  if (typeof kind !== 'string') return undefined;
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
