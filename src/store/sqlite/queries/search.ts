import type { Database } from 'better-sqlite3';
import type { EventId } from '../../event-id.ts';
import type { Found, Picked, Stretch } from '../../event-search.ts';
import type { EventFilter } from '../../event-store.ts';
import type { ReplayQuery } from '../../semantics/replay-all.ts';
import {
  type Group,
  needsTallies,
  newestFirst,
  oldestFirst,
  type Place,
  type Route,
} from '../../semantics/search-route.ts';
import { type Condition, conditionOf } from '../tables/filter-sql.ts';
import { REPLAYABLE } from '../tables/resets.ts';
import { type EventRow, idOf, placeFinder, TAKEN, toEvent } from '../tables/rows.ts';
import { resourceOrder, tallyReader } from './glance.ts';

type Identity = Pick<EventRow, 'event_time' | 'digest'>;
type Params = Readonly<Record<string, unknown>>;

interface Query {
  readonly filter: EventFilter;
  readonly stretch: Stretch;
}

/** The newest events that match, among as many as the stretch reaches. */
export function search(db: Database): (query: Query) => Found {
  const find = finder<EventRow>(db, 'events.*', newestFirst);
  return ({ filter, stretch }) => {
    const { rows, next } = find(filter, stretch, { sql: 'TRUE', params: [] });
    return { events: rows.map(toEvent), next };
  };
}

/** The ids of the oldest events, by event time, that match and that a replay would take. */
export function replayable(db: Database): (query: ReplayQuery) => Picked {
  const find = finder<Identity>(db, 'event_time, digest', oldestFirst);
  return ({ filter, stretch, upTo = Number.MAX_SAFE_INTEGER }) => {
    const { rows, next } = find(filter, stretch, { sql: `${REPLAYABLE} AND seq <= ?`, params: [upTo] });
    return { ids: rows.map(idOf), next };
  };
}

type Find<R> = (
  filter: EventFilter,
  stretch: Stretch,
  condition: Condition,
) => { readonly rows: R[]; readonly next: EventId | undefined };

function finder<R extends Identity>(db: Database, columns: string, routeOf: typeof newestFirst): Find<R> {
  const seqOf = placeFinder(db);
  const placeOf = db.prepare<[number | undefined], Place>(
    'SELECT seq AS event, event_time AS eventTime, digest FROM ledger WHERE seq = ?',
  );
  const talliesOf = tallyReader(db);
  return (filter, { before, reach, limit }, condition) => {
    const start = before === undefined ? undefined : placeOf.get(seqOf(before));
    if (before !== undefined && !start) return { rows: [], next: undefined };
    const tallies = needsTallies(filter) ? talliesOf() : [];
    const candidates = candidatesOf(routeOf({ filter, start, reach, tallies }));
    const where = named(conditionOf(filter), condition);
    // The rows come in the candidates' order: SQLite follows it, and stops once there are enough.
    const rows = db
      .prepare<object, R>(
        `SELECT ${columns} FROM (${candidates.sql}) CROSS JOIN events USING (seq)
         WHERE ${where.sql} LIMIT :limit`,
      )
      .all({ ...candidates.params, ...where.params, limit });
    const last = rows.at(-1);
    return { rows, next: rows.length === limit && last ? idOf(last) : endOfReach(db, candidates) };
  };
}

/** Candidates have named parameters and conditions numbered ones: all become named, so that they do not mix. */
function named(...conditions: readonly Condition[]): { sql: string; params: object } {
  let count = 0;
  const values = conditions.flatMap(({ params }) => params);
  return {
    sql: conditions
      .map(({ sql }) => `(${sql})`)
      .join(' AND ')
      .replaceAll('?', () => `:c${count++}`),
    params: Object.fromEntries(values.map((value, index) => [`c${index}`, value])),
  };
}

/** The rows that a search looks at: the numbers of events in its order, at most `:reach`. */
interface Candidates {
  readonly sql: string;
  readonly params: Params;
}

function candidatesOf({ start, reach, ...route }: Route): Candidates {
  const params = { seq: start.event, time: start.eventTime, digest: start.digest, reach };
  if (route.order === 'time of a resource, newest first') {
    return {
      sql: resourceOrder('DESC'),
      params: { ...params, resource: route.resource },
    };
  }
  const { arms, values } = route.among ? armsOf(route.among) : ALL;
  if (route.order === 'receipt, newest first') {
    // Each arm has this order of itself: SQLite merges them, and reads no more of them than it needs.
    const each = arms.map((arm) => `SELECT seq FROM (${arm}) WHERE seq < :seq`);
    return {
      sql: `${each.join(' UNION ALL ')} ORDER BY seq DESC LIMIT :reach`,
      params: { ...params, ...values },
    };
  }
  const isBackwards = route.order === 'time, newest first';
  const [order, is, end] = isBackwards ? ['DESC', '<', '>='] : ['ASC', '>', '<'];
  const source = route.among
    ? `(${arms.join(' UNION ALL ')}) CROSS JOIN ledger USING (seq)`
    : 'ledger INDEXED BY ledger_identity';
  const sql = `SELECT seq FROM ${source}
    WHERE (ledger.event_time, digest) ${is} (:time, :digest) AND ledger.event_time ${end} :end
    ORDER BY ledger.event_time ${order}, digest ${order} LIMIT :reach`;
  return { sql, params: { ...params, ...values, end: route.end } };
}

/** Statements that together give the numbers of events, each of them in an order that an index has. */
interface Arms {
  readonly arms: readonly string[];
  readonly values: Params;
}

const ALL: Arms = { arms: ['SELECT seq FROM ledger'], values: {} };

/** What is in the ledger only. */
const UNTAKEN = `SELECT seq FROM ledger WHERE seq > ${TAKEN}`;

function armsOf(group: Group): Arms {
  switch (group.by) {
    case 'ids': {
      const { sql, params } = conditionOf({ ids: group.ids });
      return {
        arms: [`SELECT seq FROM ledger WHERE ${sql.replace('?', ':ids')}`],
        values: { ids: params[0] },
      };
    }
    case 'resource': {
      const arms = [
        firstOf('finished', 'TRUE'),
        firstOf('work INDEXED BY work_put_off', 'next_attempt_at IS NOT NULL'),
      ];
      return { arms, values: { resource: group.resource, from: group.from } };
    }
    case 'kind': {
      const arms = ['SELECT event AS seq FROM kinds WHERE kind = :kind', `${UNTAKEN} AND kind = :kind`];
      return { arms, values: { kind: group.kind } };
    }
    case 'status':
      return armsOfStatus(group.status);
  }
}

/** Of a resource all events of the time that it starts from, and of later ones, at least `:reach`. */
function firstOf(table: string, where: string): string {
  const of = `FROM ${table} WHERE resource = :resource AND ${where} AND event_time`;
  return `SELECT event AS seq ${of} >= :from AND event_time <= ifnull(
    (SELECT event_time ${of} > :from ORDER BY event_time LIMIT 1 OFFSET :reach - 1), ${Number.MAX_SAFE_INTEGER})`;
}

function armsOfStatus(status: Extract<Group, { by: 'status' }>['status']): Arms {
  if (status === 'pending') return { arms: ['SELECT event AS seq FROM work', UNTAKEN], values: {} };
  if (status === 'running') {
    return {
      arms: ['SELECT event AS seq FROM lanes INDEXED BY lanes_leased WHERE event IS NOT NULL'],
      values: {},
    };
  }
  const ended = `SELECT event AS seq FROM results INDEXED BY results_status WHERE status = :status AND status <> 'handled'`;
  return { arms: [ended], values: { status } };
}

function endOfReach(db: Database, { sql, params }: Candidates): EventId | undefined {
  const last = db
    .prepare<object, Identity>(
      `SELECT event_time, digest FROM events WHERE seq = (SELECT seq FROM (${sql}) LIMIT 1 OFFSET :reach - 1)`,
    )
    .get(params);
  return last && idOf(last);
}
