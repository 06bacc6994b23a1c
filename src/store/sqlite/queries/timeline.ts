import type { Database } from 'better-sqlite3';
import type { DoneStep, Timeline } from '../../event-search.ts';
import { type EventRow, placeFinder, toEvent } from '../tables/events-view.ts';
import { resourceOrder } from './resource-order.ts';

interface Query {
  readonly id: string;
  readonly each: number;
}

export function timeline(db: Database): (query: Query) => Timeline | undefined {
  const seqOf = placeFinder(db);
  const find = db.prepare<[number], EventRow>('SELECT * FROM events WHERE seq = ?');
  const along = (sql: string) =>
    db.prepare<object, EventRow>(`SELECT events.* FROM (${sql}) CROSS JOIN events USING (seq)`);
  const older = along(resourceOrder({ order: 'DESC', from: '<' }));
  const newer = along(resourceOrder({ order: 'ASC', from: '>' }));
  const handledBefore = db
    .prepare<[string, number, number], number>(
      `SELECT 1 FROM finished JOIN results USING (event)
       WHERE resource = ? AND event_time > ? AND is_handled = 1 AND handled_at < ? LIMIT 1`,
    )
    .pluck();
  return ({ id, each }) => {
    const seq = seqOf(id);
    const row = seq === undefined ? undefined : find.get(seq);
    if (!row) return undefined;
    const query = { resource: row.resource, time: row.event_time, seq: row.seq, reach: each };
    const rows = [...newer.all(query).reverse(), row, ...older.all(query)];
    const ended = row.handled_at ?? Number.MAX_SAFE_INTEGER;
    // Null: it has not run yet, or a former version ran it, which did not store what it told the handler.
    const late = row.late ?? handledBefore.get(row.resource, row.event_time, ended);
    return { events: rows.map(toEvent), late: late === 1 };
  };
}

export function steps(db: Database): (id: string) => DoneStep[] {
  const seqOf = placeFinder(db);
  const all = db.prepare<[number | undefined], DoneStep>('SELECT name, result FROM steps WHERE event = ?');
  return (id) => all.all(seqOf(id));
}
