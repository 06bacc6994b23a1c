import type { Database } from 'better-sqlite3';
import type { Attempt, AttemptOutcome, EventFilter, Page, Received, StoredEvent } from '../../event-store.ts';
import { type EventRow, seqFinder, toEvent } from '../operations/events-table.ts';
import { conditionOf } from '../operations/filter-sql.ts';

export function event(db: Database): (id: string) => StoredEvent | undefined {
  const seqOf = seqFinder(db);
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
}

export function attempts(db: Database): (id: string) => Attempt[] {
  const seqOf = seqFinder(db);
  const find = db.prepare<[number | undefined], AttemptRow>(
    'SELECT * FROM attempts WHERE event = ? ORDER BY replay, attempt',
  );
  return (id) =>
    find.all(seqOf(id)).map((row) => ({
      replay: row.replay,
      attempt: row.attempt,
      startedAt: row.started_at,
      durationMs: row.duration_ms,
      outcome: row.outcome,
      error: row.error?.toString(),
    }));
}

export function events(db: Database): (query: { filter: EventFilter; page: Page }) => StoredEvent[] {
  const seqOf = seqFinder(db);
  return ({ filter, page }) => {
    const { sql, params } = conditionOf(filter);
    const before = page.before === undefined ? Number.MAX_SAFE_INTEGER : (seqOf(page.before) ?? 0);
    return db
      .prepare<unknown[], EventRow>(`SELECT * FROM events WHERE ${sql} AND seq < ? ORDER BY seq DESC LIMIT ?`)
      .all(...params, before, page.limit)
      .map(toEvent);
  };
}

interface Stretch {
  readonly filter: EventFilter;
  readonly after: string | undefined;
  readonly limit: number;
}

export function eventsAfter(db: Database): (stretch: Stretch) => StoredEvent[] {
  const seqOf = seqFinder(db);
  return ({ filter, after, limit }) => {
    const { sql, params } = conditionOf(filter);
    const from = after === undefined ? 0 : (seqOf(after) ?? Number.MAX_SAFE_INTEGER);
    return db
      .prepare<unknown[], EventRow>(`SELECT * FROM events WHERE ${sql} AND seq > ? ORDER BY seq LIMIT ?`)
      .all(...params, from, limit)
      .map(toEvent);
  };
}

interface Place {
  readonly filter: EventFilter;
  readonly after: number | undefined;
  readonly limit: number;
}

type ReceivedRow = [seq: number, body: string | null, receivedAt: number, webhookId: string];

export function receivedAfter(db: Database): (place: Place) => Received[] {
  return ({ filter, after, limit }) => {
    const { sql, params } = conditionOf(filter);
    return db
      .prepare<unknown[], ReceivedRow>(
        `SELECT seq, body, received_at, webhook_id FROM events WHERE ${sql} AND seq > ? ORDER BY seq LIMIT ?`,
      )
      .raw()
      .all(...params, after ?? 0, limit)
      .map(([place, body, receivedAt, webhookId]) => ({
        place,
        body: body ?? undefined,
        receivedAt,
        webhookId,
      }));
  };
}

export function count(db: Database): (filter: EventFilter) => number {
  return (filter) => {
    const { sql, params } = conditionOf(filter);
    return (
      db
        .prepare<unknown[], number>(`SELECT count(*) FROM events WHERE ${sql}`)
        .pluck()
        .get(...params) ?? 0
    );
  };
}
