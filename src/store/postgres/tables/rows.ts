import { createHash } from 'node:crypto';
import type { Progress, WorkRow } from '../../driver.ts';
import { eventId } from '../../event-id.ts';
import type { Status, StoredEvent } from '../../event-store.ts';
import { fromText, fromTextOrNull } from '../session.ts';

/** A row of `work`. */
export interface WorkColumns {
  event: number;
  kind: string;
  resource: string;
  event_time: number;
  attempts: number;
  interrupted: number;
  replays: number;
  late: boolean | null;
  next_attempt_at: number | null;
  last_error: string | null;
}

/** When the event of a row of work was received. @param row what the statement calls it */
export const receivedAt = (row: string) =>
  `coalesce((SELECT received_at FROM hookkit.ledger WHERE ledger.event = ${row}.event), ${row}.event_time)`;

export function workOf(row: WorkColumns): WorkRow {
  return {
    event: row.event,
    kind: fromText(row.kind),
    resource: fromText(row.resource),
    eventTime: row.event_time,
    attempts: row.attempts,
    interrupted: row.interrupted,
    replays: row.replays,
    late: row.late ?? undefined,
    nextAttemptAt: row.next_attempt_at ?? undefined,
    lastError: fromTextOrNull(row.last_error),
  };
}

/** The columns of how far an event got, in this order: `attempts, interrupted, replays, late`. */
export const progress: readonly ((row: Progress) => unknown)[] = [
  ({ attempts }) => attempts,
  ({ interrupted }) => interrupted,
  ({ replays }) => replays,
  ({ late }) => late,
];

/** What identifies an event. */
export interface Identity {
  readonly event_time: number;
  readonly digest: Buffer;
}

export function idOf(row: Identity) {
  return eventId(row.event_time, row.digest);
}

/** A row of the view `events`. */
export interface EventRow extends Identity {
  event: number;
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
  last_error: string | null;
  body: string | null;
  interrupted: number;
  late: boolean | null;
}

export function toEvent(row: EventRow): StoredEvent {
  return {
    id: idOf(row),
    digest: row.digest.toString('hex'),
    kind: fromText(row.kind),
    webhookId: fromText(row.webhook_id),
    siteId: fromText(row.site_id),
    resource: fromText(row.resource),
    eventTime: row.event_time,
    body: fromTextOrNull(row.body),
    receivedAt: row.received_at,
    deliveries: row.deliveries,
    lastDeliveryAt: row.last_delivery_at,
    status: row.status,
    starts: row.attempts + row.interrupted,
    attempts: row.attempts,
    replays: row.replays,
    nextAttemptAt: row.next_attempt_at ?? undefined,
    lastError: fromTextOrNull(row.last_error),
    handledAt: row.handled_at ?? undefined,
  };
}

/** An index takes some 2,700 bytes a row; senders name kinds as they like. */
const LONGEST_KEY = 500;

/** The key of a kind in the index of kinds. */
export function kindKey(kind: string): string {
  if (kind.length <= LONGEST_KEY) return kind;
  return `${kind.slice(0, LONGEST_KEY)}:${createHash('sha256').update(kind).digest('hex')}`;
}
