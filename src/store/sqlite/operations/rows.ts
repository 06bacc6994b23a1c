import { eventId } from '../../event-id.ts';
import type { Status, StoredEvent } from '../../event-store.ts';

/** A row of `events`. */
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
  /** a former version stored whatever handlers gave it */
  last_error: string | Buffer | null;
  body: string | null;
}

export function toEvent(row: EventRow): StoredEvent {
  return {
    id: eventId(row.event_time, row.digest),
    digest: row.digest.toString('hex'),
    kind: row.kind,
    webhookId: row.webhook_id,
    siteId: row.site_id,
    resource: row.resource,
    eventTime: row.event_time,
    body: row.body ?? undefined,
    receivedAt: row.received_at,
    deliveries: row.deliveries,
    lastDeliveryAt: row.last_delivery_at,
    status: row.status,
    attempts: row.attempts,
    replays: row.replays,
    nextAttemptAt: timeOf(row.next_attempt_at),
    lastError: row.last_error?.toString(),
    handledAt: row.handled_at ?? undefined,
  };
}

/** The last millisecond that a Date can hold. */
const LAST_TIME = 8_640_000_000_000_000;

/** A former version stored whatever handlers gave it: what is no time counts as none, so that its event can be shown. */
function timeOf(stored: number | null): number | undefined {
  return stored !== null && Number.isInteger(stored) && stored <= LAST_TIME ? stored : undefined;
}
