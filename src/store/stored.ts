import type { EventId } from './event-id.ts';

/** `pending` → `running` → `handled` | `skipped` | `dead`; a replay resets an event to `pending`. */
export type Status = 'pending' | 'running' | 'handled' | 'skipped' | 'dead';

/** A verified notification, to be recorded. Times are milliseconds since the epoch. */
export interface VerifiedNotification {
  /** 32 bytes; notifications with the same digest and `eventTime` are one event */
  readonly digest: Uint8Array;
  readonly kind: string;
  readonly webhookId: string;
  readonly siteId: string;
  /** `media:ID`, `channel:ID`, or a name of its own; events of one resource never run two at once */
  readonly resource: string;
  /** 0 if the notification has none */
  readonly eventTime: number;
  /** the text as received */
  readonly body: string;
}

/** An event as stored. Times are milliseconds since the epoch. */
export interface StoredEvent extends Omit<VerifiedNotification, 'digest' | 'body'> {
  readonly id: EventId;
  /** hex */
  readonly digest: string;
  /** undefined after retention has removed it */
  readonly body: string | undefined;
  readonly receivedAt: number;
  readonly deliveries: number;
  readonly lastDeliveryAt: number;
  readonly status: Status;
  /** how often a handler's run began since it was recorded or last replayed; never goes back */
  readonly starts: number;
  /** how many of the starts count against the budget of retries: all but those that a stop cut short */
  readonly attempts: number;
  /** how often it was replayed */
  readonly replays: number;
  readonly nextAttemptAt: number | undefined;
  readonly lastError: string | undefined;
  readonly handledAt: number | undefined;
}

/** The end of one run of a handler. `lost`: its process crashed, or was too slow to renew the lease. */
export type AttemptOutcome =
  | 'handled'
  | 'skipped'
  | 'failed'
  | 'retry'
  | 'error'
  | 'timeout'
  | 'interrupted'
  | 'lost';

/** The record of one start. */
export interface Attempt {
  /** the replay it belongs to; 0 is before the first replay */
  readonly replay: number;
  /** the number of the start, from 1 in each replay */
  readonly attempt: number;
  readonly startedAt: number;
  readonly durationMs: number;
  readonly outcome: AttemptOutcome;
  readonly error: string | undefined;
  /** the name of the process that ran it; undefined where a former version did */
  readonly instance: string | undefined;
}

/** A start that has not ended, and so has no record. */
export interface RunningStart {
  readonly startedAt: number;
  /** from when on another process may take the event over; the one that runs it moves this on as long as it lives */
  readonly leaseUntil: number;
  /** the name of the process that runs it; undefined where a former version does */
  readonly instance: string | undefined;
}

/** A value that events of a resource left (`ctx.state`). */
export interface StateValue {
  readonly name: string;
  /** JSON */
  readonly value: string;
}

/** A change of the state of a resource. */
export interface StateChange {
  readonly name: string;
  /** JSON; null deletes the name */
  readonly value: string | null;
}

/** Selects events; an absent member does not restrict. Times are event times, milliseconds since the epoch. */
export interface EventFilter {
  readonly ids?: readonly string[] | undefined;
  /** one, or any of several */
  readonly kind?: string | readonly string[] | undefined;
  readonly status?: Status | undefined;
  readonly site?: string | undefined;
  readonly resource?: string | undefined;
  readonly webhook?: string | undefined;
  /** happened from this time on; an event without an event time did not, nor before one */
  readonly since?: number | undefined;
  /** happened before this time */
  readonly until?: number | undefined;
  /** a part of the body */
  readonly q?: string | undefined;
}

/** A secret of a webhook. It is stored sealed. */
export interface WebhookSecret {
  readonly webhookId: string;
  readonly secret: string;
  readonly createdAt: number;
  /** it verifies nothing from then on */
  readonly retireAt: number | undefined;
}

/** A well-formed notification whose signature no stored secret explained. */
export interface Unproven extends VerifiedNotification {
  /** the sender's address */
  readonly source: string;
  readonly receivedAt: number;
  /** its place in the order of arrival */
  readonly place: number;
  /** how much of the quarantine's room it takes */
  readonly bytes: number;
  /** how often it came, with the same token */
  readonly deliveries: number;
}

/** The same with its token, which verifies it once its secret is known. */
export interface Quarantined extends Unproven {
  readonly token: string;
}

/** An entry as it comes into quarantine. */
export type ToQuarantine = Omit<Quarantined, 'receivedAt' | 'place' | 'bytes' | 'deliveries'>;
