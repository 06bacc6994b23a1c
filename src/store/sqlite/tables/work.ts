import type { Database } from 'better-sqlite3';
import type { Opening, ReadyEvent, WorkTables } from '../../driver.ts';
import { flag, idOf, type WorkColumns, workOf } from './rows.ts';

/** What the ledger has of a ready event. */
interface LedgerColumns {
  webhook_id: string;
  site_id: string;
  digest: Buffer;
  received_at: number;
  body: string | null;
  repeats: number | null;
  last_at: number | null;
}

function readyEvent(row: WorkColumns, event: LedgerColumns, hasMore: boolean): ReadyEvent {
  return {
    ...workOf(row),
    id: idOf({ event_time: row.event_time, digest: event.digest }),
    digest: event.digest.toString('hex'),
    webhookId: event.webhook_id,
    siteId: event.site_id,
    body: event.body ?? undefined,
    receivedAt: event.received_at,
    deliveries: 1 + (event.repeats ?? 0),
    lastDeliveryAt: Math.max(event.received_at, event.last_at ?? 0),
    hasMore,
  };
}

/** When the event of a row of work was received. */
const RECEIVED_AT = 'ifnull((SELECT received_at FROM ledger WHERE seq = work.event), work.event_time)';

type OpeningColumns = WorkColumns & Pick<Opening, 'receivedAt'>;

const openingOf = (row: OpeningColumns) => ({ ...workOf(row), receivedAt: row.receivedAt });

export function workTables(db: Database): WorkTables {
  const add = db.prepare(
    `INSERT INTO work
       (event, kind, resource, event_time, attempts, interrupted, replays, late, next_attempt_at, last_error)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const change = db.prepare(
    `UPDATE work SET attempts = ?, interrupted = ?, replays = ?, late = ?, next_attempt_at = ?, last_error = ?
     WHERE event = ?`,
  );
  const start = db.prepare('UPDATE work SET attempts = attempts + 1, late = ? WHERE event = ?');
  const remove = db.prepare('DELETE FROM work WHERE event = ?');
  const due = db.prepare<[number, number], OpeningColumns>(
    `SELECT *, ${RECEIVED_AT} AS receivedAt FROM work
     WHERE next_attempt_at <= +? AND next_attempt_at IS NOT NULL ORDER BY next_attempt_at LIMIT +?`,
  );
  const makeReady = db.prepare('UPDATE work SET next_attempt_at = NULL WHERE event = ?');
  const oldest = db.prepare<[string], WorkColumns>(
    `SELECT * FROM work INDEXED BY work_ready
     WHERE resource = +? AND next_attempt_at IS NULL ORDER BY event_time, event LIMIT 2`,
  );
  const received = db.prepare<[number], LedgerColumns>(
    `SELECT webhook_id, site_id, digest, received_at, body, repeats.repeats, repeats.last_at
     FROM ledger LEFT JOIN repeats ON repeats.event = ledger.seq WHERE ledger.seq = +?`,
  );
  const firstWaiting = db
    .prepare<[], number | null>('SELECT min(next_attempt_at) FROM work WHERE next_attempt_at IS NOT NULL')
    .pluck();
  const firstLease = db
    .prepare<[number], number | null>(
      'SELECT min(lease_until) FROM lanes WHERE event IS NOT NULL AND lease_until > ?',
    )
    .pluck();
  const waiting = db.prepare<[number, number, string], OpeningColumns>(
    `SELECT *, ${RECEIVED_AT} AS receivedAt FROM work INDEXED BY work_waiting
     WHERE next_attempt_at >= ? AND next_attempt_at < ? AND last_error = ? AND attempts = 0 ORDER BY next_attempt_at`,
  );
  const readyOf = (resource: string): ReadyEvent | undefined => {
    for (;;) {
      const [row, next] = oldest.all(resource);
      if (!row) return undefined;
      const event = received.get(row.event);
      if (event) return readyEvent(row, event, next !== undefined);
      remove.run(row.event); // the database was changed by hand: there is nothing to handle any more
    }
  };
  return {
    addWork(rows) {
      for (const row of rows) {
        const { event, kind, resource, eventTime, attempts, interrupted, replays } = row;
        const rest = [flag(row.late), row.nextAttemptAt ?? null, row.lastError ?? null];
        add.run(event, kind, resource, eventTime, attempts, interrupted, replays, ...rest);
      }
    },
    changeWork(changes) {
      for (const { event, attempts, interrupted, replays, late, nextAttemptAt, lastError } of changes) {
        change.run(
          ...[attempts, interrupted, replays, flag(late), nextAttemptAt ?? null, lastError ?? null, event],
        );
      }
    },
    countStarts: (starts) => starts.forEach(({ event, late }) => void start.run(flag(late), event)),
    removeWork: (events) => events.forEach((event) => void remove.run(event)),
    due: (now, limit) => due.all(now, limit).map(openingOf),
    makeReady: (events) => events.forEach((event) => void makeReady.run(event)),
    oldestReady: (resources) => resources.map(readyOf),
    nextDue(now) {
      const times = [firstWaiting.get(), firstLease.get(now)].filter((time) => typeof time === 'number');
      return times.length > 0 ? Math.min(...times) : undefined;
    },
    waitingWith: (note, from, until) => waiting.all(from, until, note).map(openingOf),
  };
}
