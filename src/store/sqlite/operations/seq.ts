import type { Database } from 'better-sqlite3';
import { parseEventId } from '../../event-id.ts';

/** Finds the row of an event id through the identity index; undefined where there is none. */
export function seqFinder(db: Database): (id: string) => number | undefined {
  const find = db
    .prepare<[number, Buffer, Buffer], number>(
      'SELECT seq FROM events WHERE event_time = ? AND digest BETWEEN ? AND ?',
    )
    .pluck();
  return (id) => {
    const parsed = parseEventId(id);
    return parsed && find.get(parsed.eventTime, parsed.first, parsed.last);
  };
}
