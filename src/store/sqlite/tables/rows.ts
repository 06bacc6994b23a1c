import type { Database } from 'better-sqlite3';
import type { Progress, WorkRow } from '../../driver.ts';
import { eventId, parseEventId } from '../../event-id.ts';
import type { Status, StoredEvent } from '../../event-store.ts';

/** A row of `work`. */
export interface WorkColumns {
  event: number;
  kind: string;
  resource: string;
  event_time: number;
  attempts: number;
  interrupted: number;
  replays: number;
  late: 0 | 1 | null;
  next_attempt_at: number | null;
  last_error: string | null;
}

export function workOf(row: WorkColumns): WorkRow {
  return {
    event: row.event,
    kind: row.kind,
    resource: row.resource,
    eventTime: row.event_time,
    attempts: row.attempts,
    interrupted: row.interrupted,
    replays: row.replays,
    late: row.late === null ? undefined : row.late === 1,
    nextAttemptAt: row.next_attempt_at ?? undefined,
    lastError: row.last_error ?? undefined,
  };
}

/** As SQLite stores it. */
export function flag(value: Progress['late']): 0 | 1 | null {
  if (value === undefined) return null;
  return value ? 1 : 0;
}

export function idOf(row: { readonly event_time: number; readonly digest: Buffer }) {
  return eventId(row.event_time, row.digest);
}

/** Up to where the ledger was taken into work. */
export const TAKEN = "(SELECT seq FROM cursors WHERE name = 'taken')";

/** A row of the view `events`. */
export interface EventRow {
  seq: number;
  event_time: number;
  digest: Buffer;
  kind: string;
  webhook_id: string;
  site_id: string;
  resource: string;
  received_at: number;
  deliveries: number;
  last_delivery_at: number;
  status: Status;
  attempts: number;
  replays: number;
  next_attempt_at: number | null;
  handled_at: number | null;
  /** a Buffer only from a former version, which stored any value of a handler */
  last_error: string | Buffer | null;
  body: string | null;
  /** how many starts `attempts` does not count, as a stop cut them short */
  interrupted: number;
  /** what its handler was told when it first ran; null before, and in rows of a former version */
  late: 0 | 1 | null;
}

/** Reads a row with any content: SQLite keeps any type in any column, and one bad row must not break a list. */
export function toEvent(row: EventRow): StoredEvent {
  return {
    id: eventId(timeOf(row.event_time) ?? 0, row.digest),
    digest: row.digest.toString('hex'),
    kind: String(row.kind),
    webhookId: String(row.webhook_id),
    siteId: String(row.site_id),
    resource: String(row.resource),
    eventTime: timeOf(row.event_time) ?? 0,
    body: row.body === null ? undefined : String(row.body),
    receivedAt: timeOf(row.received_at) ?? 0,
    deliveries: row.deliveries,
    lastDeliveryAt: timeOf(row.last_delivery_at) ?? 0,
    status: row.status,
    starts: row.attempts + row.interrupted,
    attempts: row.attempts,
    replays: row.replays,
    nextAttemptAt: timeOf(row.next_attempt_at),
    lastError: row.last_error?.toString(),
    handledAt: timeOf(row.handled_at),
  };
}

/** The last millisecond that a Date can hold. */
const LAST_TIME = 8_640_000_000_000_000;

/** A time; undefined if the value is not one. A former version stored any value of a handler here. */
export function timeOf(stored: number | null): number | undefined {
  return stored !== null && Number.isInteger(stored) && Math.abs(stored) <= LAST_TIME ? stored : undefined;
}

/** Finds the place of an event in the ledger by its id, through the identity index; undefined if there is none. */
export function placeFinder(db: Database): (id: string) => number | undefined {
  const find = db
    .prepare<[number, Buffer, Buffer], number>(
      'SELECT seq FROM ledger WHERE event_time = ? AND digest BETWEEN ? AND ?',
    )
    .pluck();
  return (id) => {
    const parsed = parseEventId(id);
    return parsed && find.get(parsed.eventTime, parsed.first, parsed.last);
  };
}
