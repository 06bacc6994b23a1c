import type { Database } from 'better-sqlite3';
import type { EventId } from '../../event-id.ts';
import type { Found, Picked, Stretch } from '../../event-search.ts';
import type { EventFilter } from '../../event-store.ts';
import type { ReplayQuery } from '../../semantics/replay-all.ts';
import { type Condition, conditionOf } from '../tables/filter-sql.ts';
import { REPLAYABLE } from '../tables/resets.ts';
import { type EventRow, idOf, placeFinder, toEvent } from '../tables/rows.ts';
import { type Candidates, candidatesOf, NEWEST, OLDEST, oldestFirst, type Start } from './candidates.ts';
import { tallyReader } from './glance.ts';

type Identity = Pick<EventRow, 'event_time' | 'digest'>;

interface Query {
  readonly filter: EventFilter;
  readonly stretch: Stretch;
}

/** The newest events that match, among as many as the stretch reaches. */
export function search(db: Database): (query: Query) => Found {
  const find = finder<EventRow>(db, 'events.*', NEWEST_FIRST);
  return ({ filter, stretch }) => {
    const { rows, next } = find(filter, stretch, { sql: 'TRUE', params: [] });
    return { events: rows.map(toEvent), next };
  };
}

/** The ids of the oldest events, by event time, that match and that a replay would take. */
export function replayable(db: Database): (query: ReplayQuery) => Picked {
  const find = finder<Identity>(db, 'event_time, digest', { from: OLDEST, candidatesOf: oldestFirst });
  return ({ filter, stretch, upTo = Number.MAX_SAFE_INTEGER }) => {
    const { rows, next } = find(filter, stretch, { sql: `${REPLAYABLE} AND seq <= ?`, params: [upTo] });
    return { ids: rows.map(idOf), next };
  };
}

/** The order of a search. */
interface Order {
  readonly from: Start;
  readonly candidatesOf: typeof candidatesOf;
}

const NEWEST_FIRST: Order = { from: NEWEST, candidatesOf };

type Find<R> = (
  filter: EventFilter,
  stretch: Stretch,
  condition: Condition,
) => { readonly rows: R[]; readonly next: EventId | undefined };

function finder<R extends Identity>(db: Database, columns: string, order: Order): Find<R> {
  const startOf = startFinder(db);
  const tallies = tallyReader(db);
  return (filter, { before, reach, limit }, condition) => {
    const start = before === undefined ? order.from : startOf(before);
    if (!start) return { rows: [], next: undefined };
    const candidates = order.candidatesOf(filter, start, tallies(), reach);
    const where = named(conditionOf(filter), condition);
    // The rows come in the candidates' order: SQLite follows it, and stops once there are enough.
    const rows = db
      .prepare<object, R>(
        `SELECT ${columns} FROM (${candidates.sql}) CROSS JOIN events USING (seq)
         WHERE ${where.sql} LIMIT :limit`,
      )
      .all({ ...candidates.params, ...where.params, reach, limit });
    const last = rows.at(-1);
    return { rows, next: rows.length === limit && last ? idOf(last) : endOfReach(db, candidates, reach) };
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

function startFinder(db: Database): (id: string) => Start | undefined {
  const seqOf = placeFinder(db);
  const find = db.prepare<[number], Start>(
    'SELECT seq, event_time AS time, digest FROM events WHERE seq = ?',
  );
  return (id) => {
    const seq = seqOf(id);
    return seq === undefined ? undefined : find.get(seq);
  };
}

function endOfReach(db: Database, candidates: Candidates, reach: number): EventId | undefined {
  const sql = `SELECT event_time, digest FROM events
    WHERE seq = (SELECT seq FROM (${candidates.sql}) LIMIT 1 OFFSET :reach - 1)`;
  const last = db.prepare<object, Identity>(sql).get({ ...candidates.params, reach });
  return last && idOf(last);
}
