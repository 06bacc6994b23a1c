import { hash } from 'node:crypto';
import { cut } from '../base/text.ts';
import { digestOf, type JsonObject } from '../notification/json.ts';
import type { Origin } from '../notification/kinds.ts';
import { eventTimeOf, resourceOf } from '../notification/payload.ts';

declare const brand: unique symbol;

/** The name of an event, the same in every database and process: its time and the start of its digest. */
export type EventId = string & { readonly [brand]: 'EventId' };

/**
 * @param eventTime milliseconds since the epoch; 0 if the notification has none
 * @param digest the event's 32-byte digest
 */
export function eventId(eventTime: number, digest: Buffer): EventId {
  return `${eventTime.toString(36)}-${digest.toString('hex', 0, 10)}` as EventId;
}

/** The form of an event's id; that of a subscriber's event ends in `@NAME`. */
export const EVENT_ID = /^-?[0-9a-z]{1,11}-[0-9a-f]{20}(@[a-z][a-z0-9-]{0,39})?$/;

/** Whether a text has the form of an event's id. */
export const isEventId = (text: string): text is EventId => EVENT_ID.test(text);

/** Whose events are meant: the name of a subscriber, or '' for the handlers without a name. */
export type Of = { readonly subscriber: string };

/** Whose events are meant, and the time. */
export type Timed = Of & { readonly now: number };

/** Whether a text can be the name of a subscriber: `main` and `all` mean something else in filters. */
export const isSubscriber = (text: string) => /^(?!(main|all)$)[a-z][a-z0-9-]{0,39}$/.test(text);

/** The id of a subscriber's event by that of its notification, or a slot that a subscriber has a handler for. */
export const ofSubscriber = (name: string, subscriber: string) =>
  subscriber ? `${name}@${subscriber}` : name;

/** What stays of the name of a resource, as `media:ID`, or of a site once it is erased: what comes of it again is recognised by that. */
export const erasedName = (name: string) => `erased:${hash('sha256', name)}`;

/** Whose event it is, by its id. */
export const subscriberOf = (id: string): string => id.split('@')[1] ?? '';

/**
 * `pending` → `running` → `handled` | `skipped` | `dead`; a person may have `dismissed` an event. A replay resets an event to `pending`.
 * `running` is what a lane says: the row of a running event says `pending`.
 */
export const STATUSES = ['pending', 'running', 'handled', 'skipped', 'dead', 'dismissed'] as const;
export type Status = (typeof STATUSES)[number];

/**
 * Why a pending event waits: its handler asked for it (`retry`), or a run failed. What a replay holds, what was given back for another
 * process and what was lost twice wait for something else.
 */
export const WAITING = ['asked', 'failed'] as const;

/** The name of a resource as lists show it: `media:ID`, `channel:ID`, `schedule:NAME`, `event:ID` of an event that belongs to none, `erased:DIGEST`. */
export const RESOURCE = /^(media|channel|event|schedule|erased):./s;

/** The members that identify an event. */
export interface Named {
  /** the event's identity: notifications with the same id are one event */
  readonly id: EventId;
  readonly kind: string;
  readonly webhookId: string;
  readonly siteId: string;
  /** `media:ID`, `channel:ID`, or a name of its own; events of one resource never run two at once */
  readonly resource: string;
  /** the id of the request that brought it; undefined if none did */
  readonly request?: string | undefined;
  /** the trace context of its receipt, as a `traceparent` has it; undefined if nobody traced it */
  readonly trace?: string | undefined;
}

/** A verified notification, to be recorded. Times are milliseconds since the epoch. */
export interface VerifiedNotification extends Named {
  /** 0 if the notification has none */
  readonly eventTime: number;
  /** the text as received */
  readonly body: string;
}

const LONGEST_LABEL = 200;

/** A notification as it is recorded: its text, and the columns by which events are found and ordered. */
export function toVerified(body: JsonObject, text: string): VerifiedNotification {
  const eventTime = eventTimeOf(body) ?? 0;
  const id = eventId(eventTime, digestOf(body));
  return {
    id,
    eventTime,
    kind: label(body.event),
    webhookId: label(body.webhook_id),
    siteId: label(body.site_id),
    resource: resourceOf(body) ?? `event:${id}`,
    body: text,
  };
}

/** A stranger's text as a column or in the log, such as a member: a kind that is not known yet may hold anything. The body keeps it in full. */
export function label(member: unknown): string {
  if (typeof member !== 'string') return '';
  return cut(member, LONGEST_LABEL).replace(/[\p{Cc}\p{Cs}]/gu, '\uFFFD');
}

/** The members by which log lines name an event, or a start of it: each has one name in all lines. */
export function lineOf({ starts: attempt, ...event }: Named & Partial<Pick<StoredEvent, 'starts'>>) {
  const { id, kind, resource, siteId: site, webhookId: webhook, request } = event;
  return { event: id, kind, resource, site, webhook, request, attempt };
}

/** A schedule of an app: `resource` is `schedule:NAME`, and `data` is its Spec as JSON. */
export type Scheduled = Readonly<Record<'resource' | 'data', string>>;

/** An event as stored. Times are milliseconds since the epoch. */
export interface StoredEvent extends Omit<VerifiedNotification, 'body'>, Of {
  readonly origin: Origin;
  /** its number in the order in which events were received */
  readonly seq: number;
  /** undefined after retention has removed it */
  readonly body: string | undefined;
  readonly receivedAt: number;
  readonly deliveries: number;
  readonly lastDeliveryAt: number;
  readonly status: Status;
  /** how often a handler's run began since the event was recorded or last replayed; never goes back */
  readonly starts: number;
  /** how many starts count against the budget of retries: failures and crashes, not stops and requests to come back */
  readonly attempts: number;
  readonly replays: number;
  readonly nextAttemptAt: number | undefined;
  /** undefined unless it waits for one of these reasons */
  readonly waiting: (typeof WAITING)[number] | undefined;
  readonly lastError: string | undefined;
  /** when it was handled or skipped; undefined otherwise */
  readonly handledAt: number | undefined;
  /** when it was handled, skipped, dead or dismissed; undefined otherwise */
  readonly endedAt: number | undefined;
  /** a newer event of its resource was handled before this one first ran; undefined before that */
  readonly late: boolean | undefined;
  /** the reconciled event that this notification repeats */
  readonly repeats: EventId | undefined;
}

/** An event leased to one owner, to be handled now. */
export interface Claim
  extends Named,
    Of,
    Pick<StoredEvent, 'seq' | 'origin' | 'receivedAt' | 'starts' | 'attempts' | 'replays' | 'repeats'> {
  /** the name of the lease: no other claim ever has it. `starts` counts this start, `attempts` does not yet */
  readonly lease: string;
  /** empty if retention has removed it */
  readonly body: string;
  readonly late: boolean;
  /** the state of its resource, in the order of names */
  readonly state: readonly StateValue[];
  /** the names of the reminders that are set for its resource */
  readonly reminders: readonly string[];
  /** when a handler first asked to come back in this life of the event; undefined if none did */
  readonly askedAt: number | undefined;
}

/** An event that has just become dead. */
export interface DeadEvent extends Named, Pick<Claim, 'starts' | 'attempts' | 'body'> {
  readonly error: string;
}

export interface ClaimRequest extends Of {
  /** how many free lanes, those that have waited longest first */
  readonly oldest: number;
  /** how many of those that became ready last */
  readonly newest: number;
  /** of these kinds, together no more than there is `room` for, `newest` of them as above; `unknown` is every kind that is not in the list */
  readonly limits?: readonly Readonly<{ kinds: readonly string[]; room: number; newest: number }>[];
  /** the name of the claiming instance */
  readonly owner: string;
  readonly leaseMs: number;
}

/** The end of a handler that returned or threw. */
type Ended = 'handled' | 'skipped' | 'failed' | 'retry' | 'error';
/**
 * The end of one start. `lost`: its process crashed, or was too slow to renew the lease. `elsewhere`: its process has no handler for the
 * kind, and another one has.
 */
export type AttemptOutcome = Ended | 'timeout' | 'interrupted' | 'elsewhere' | 'lost';

/** The result of a claimed event. */
export interface Settlement {
  readonly status: Exclude<Status, 'running' | 'dismissed'>;
  readonly outcome: AttemptOutcome;
  /** why it failed or was skipped */
  readonly error?: string | undefined;
  /** the last lines that the handler logged */
  readonly log?: string | undefined;
  /** with `pending`: not before so many milliseconds have passed; without it, the event is ready at once */
  readonly afterMs?: number | undefined;
  /** changes the state of the resource in the same commit */
  readonly state?: readonly StateChange[] | undefined;
  /** sets and forgets reminders of the resource in the same commit */
  readonly reminders?: readonly ReminderChange[] | undefined;
  /** whether the start counts against the budget of retries */
  readonly counts: boolean;
  /** when the handler began, milliseconds since the epoch */
  readonly startedAt: number;
  /** how long it ran, milliseconds */
  readonly ms: number;
}

/** A value that events of a resource left (`ctx.state`), as JSON. */
export type StateValue = Readonly<Record<'name' | 'value', string>>;

/** A change of the state of a resource: JSON, or null to delete the name. */
export type StateChange = { readonly name: string; readonly value: string | null };

/** A reminder that is set, for a time (`at`) or for so long after the commit, with data as JSON; without either, it is forgotten. */
export interface ReminderChange {
  readonly name: string;
  readonly at?: number | undefined;
  readonly afterMs?: number | undefined;
  readonly data?: string | undefined;
}

/** A finished step of `ctx.once`. */
export interface DoneStep {
  readonly name: string;
  /** JSON; undefined where the step returned nothing */
  readonly result: string | undefined;
}

/** How a verb for many events goes on, step by step. */
export interface BulkOptions {
  /** called after each commit with the events that it changed; the next commit waits for the returned promise */
  readonly onStep?: ((ids: readonly EventId[]) => void | Promise<void>) | undefined;
  /** after an abort no further event is changed; those that a replay has reset are made ready all the same */
  readonly signal?: AbortSignal | undefined;
}

export interface ReplayOptions extends BulkOptions {
  /** forgets the stored results of `ctx.once`, so that every step runs again */
  readonly resetSteps?: boolean | undefined;
  /** called after each commit that makes events ready; the next commit waits for the promise */
  readonly onReady?: (() => void | Promise<void>) | undefined;
}

/** Why no handler starts. */
export interface Pause {
  readonly reason: string;
  /** who paused, for people */
  readonly by: string;
  /** milliseconds since the epoch */
  readonly since: number;
}

/** A secret of a webhook. It is stored sealed. */
export interface WebhookSecret {
  readonly webhookId: string;
  readonly secret: string;
  readonly createdAt: number;
  /** it verifies nothing from then on */
  readonly retireAt: number | undefined;
}

/** A well-formed notification whose signature no stored secret explained, as it comes into quarantine. */
export interface ToQuarantine extends VerifiedNotification {
  /** it verifies the notification once its secret is known */
  readonly token: string;
  /** the sender's address */
  readonly source: string;
}

/** An entry of the quarantine. `deliveries`: how often it came with the same token. */
export type Quarantined = ToQuarantine & Pick<StoredEvent, 'seq' | 'receivedAt' | 'deliveries'>;
