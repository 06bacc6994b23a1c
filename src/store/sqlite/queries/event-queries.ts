import type { Database } from 'better-sqlite3';
import type { Listed, ListStep } from '../../driver-store.ts';
import type {
  Attempt,
  AttemptOutcome,
  EventFilter,
  Received,
  RunningStart,
  StoredEvent,
} from '../../event-store.ts';
import { instanceOf } from '../../owner.ts';
import { conditionOf } from '../tables/filter-sql.ts';
import { type EventRow, placeFinder, timeOf, toEvent } from '../tables/rows.ts';

export function event(db: Database): (id: string) => StoredEvent | undefined {
  const seqOf = placeFinder(db);
  const find = db.prepare<[number], EventRow>('SELECT * FROM events WHERE seq = ?');
  return (id) => {
    const seq = seqOf(id);
    const row = seq === undefined ? undefined : find.get(seq);
    return row && toEvent(row);
  };
}

interface AttemptRow {
  replay: number;
  attempt: number;
  started_at: number;
  duration_ms: number;
  outcome: AttemptOutcome;
  error: string | Buffer | null;
  instance: string | null;
}

export function attempts(db: Database): (id: string) => Attempt[] {
  const seqOf = placeFinder(db);
  const find = db.prepare<[number | undefined], AttemptRow>(
    'SELECT * FROM attempts WHERE event = ? ORDER BY replay, attempt',
  );
  return (id) =>
    find.all(seqOf(id)).map((row) => ({
      replay: row.replay,
      attempt: row.attempt,
      startedAt: timeOf(row.started_at) ?? 0,
      durationMs: row.duration_ms,
      outcome: row.outcome,
      error: row.error?.toString(),
      instance: row.instance?.toString(),
    }));
}

interface RunningRow {
  owner: string;
  started_at: number;
  lease_until: number;
}

export function running(db: Database): (id: string) => RunningStart | undefined {
  const seqOf = placeFinder(db);
  const find = db.prepare<[number | undefined], RunningRow>(
    `SELECT owner, started_at, lease_until FROM ledger JOIN lanes ON lanes.resource = ledger.resource AND lanes.event = ledger.seq
     WHERE ledger.seq = ?`,
  );
  return (id) => {
    const row = find.get(seqOf(id));
    return row && { startedAt: row.started_at, leaseUntil: row.lease_until, instance: instanceOf(row.owner) };
  };
}

/**
 * How many events one query looks at, some 20 ms: as long as a query reads, the log cannot begin anew. Filters that few
 * events match go through all events, in steps of so many.
 */
const REACH = 20_000;

export function events(db: Database): (query: ListStep<string>) => Listed<StoredEvent> {
  const seqOf = placeFinder(db);
  const newest = newestFinder(db);
  return ({ filter, from, at, limit }) => {
    const { sql, params } = conditionOf(filter);
    const top = at ?? (from === undefined ? newest() + 1 : (seqOf(from) ?? 0));
    const bottom = filter.ids ? 0 : Math.max(0, top - REACH);
    const found = db
      .prepare<unknown[], EventRow>(
        `SELECT * FROM events WHERE ${sql} AND seq < ? AND seq >= ? ORDER BY seq DESC LIMIT ?`,
      )
      .all(...params, top, bottom, limit)
      .map(toEvent);
    return { found, next: found.length === limit || bottom === 0 ? undefined : bottom };
  };
}

export function eventsAfter(db: Database): (query: ListStep<string>) => Listed<StoredEvent> {
  const seqOf = placeFinder(db);
  const stretchOf = stretchFinder(db);
  return ({ filter, from, at, limit }) => {
    const { sql, params } = conditionOf(filter);
    const start = from === undefined ? 0 : (seqOf(from) ?? Number.MAX_SAFE_INTEGER);
    const { after, upTo, next } = stretchOf(filter, at ?? start);
    const found = db
      .prepare<unknown[], EventRow>(
        `SELECT * FROM events WHERE ${sql} AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
      )
      .all(...params, after, upTo, limit)
      .map(toEvent);
    return { found, next: found.length === limit ? undefined : next };
  };
}

type ReceivedRow = [seq: number, body: string | null, receivedAt: number, webhookId: string];

export function receivedAfter(db: Database): (query: ListStep<number>) => Listed<Received> {
  const stretchOf = stretchFinder(db);
  return ({ filter, from = 0, at, limit }) => {
    const { sql, params } = conditionOf(filter);
    const { after, upTo, next } = stretchOf(filter, at ?? from);
    const found = db
      .prepare<unknown[], ReceivedRow>(
        `SELECT seq, body, received_at, webhook_id FROM events WHERE ${sql} AND seq > ? AND seq <= ?
         ORDER BY seq LIMIT ?`,
      )
      .raw()
      .all(...params, after, upTo, limit)
      .map(([place, body, receivedAt, webhookId]) => ({
        place,
        body: body ?? undefined,
        receivedAt,
        webhookId,
      }));
    return { found, next: found.length === limit ? undefined : next };
  };
}

/** How many events of a step match. */
export function count(
  db: Database,
): (query: Pick<ListStep<never>, 'filter' | 'at'>) => { events: number; next: number | undefined } {
  const stretchOf = stretchFinder(db);
  const counted = (sql: string, params: readonly unknown[]) =>
    db
      .prepare<unknown[], number>(`SELECT count(*) FROM events WHERE ${sql}`)
      .pluck()
      .get(...params) ?? 0;
  return ({ filter, at }) => {
    const { sql, params } = conditionOf(filter);
    // The identity index alone answers this: the last hour is counted at once, a year in about a tenth of a second a million.
    if (isOnlyOfTimes(filter)) return { events: counted(sql, params), next: undefined };
    const { after, upTo, next } = stretchOf(filter, at ?? 0);
    return { events: counted(`${sql} AND seq > ? AND seq <= ?`, [...params, after, upTo]), next };
  };
}

function isOnlyOfTimes({ since, until, ...others }: EventFilter): boolean {
  const hasTimes = since !== undefined || until !== undefined;
  return hasTimes && Object.values(others).every((value) => value === undefined);
}

function newestFinder(db: Database): () => number {
  const find = db.prepare<[], number | null>('SELECT max(seq) FROM ledger').pluck();
  return () => find.get() ?? 0;
}

/** Where a step in the order of receipt ends, and where the next one begins; undefined after the newest event. */
function stretchFinder(db: Database) {
  const newest = newestFinder(db);
  return (filter: EventFilter, after: number) => {
    const last = newest();
    const upTo = filter.ids ? last : Math.min(last, after + REACH); // ids are look-ups, of which the caller knows the number
    return { after, upTo, next: upTo < last ? upTo : undefined };
  };
}
