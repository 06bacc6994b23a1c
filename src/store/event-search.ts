import type { EventId } from './event-id.ts';
import type { EventFilter, Status, StoredEvent, Unproven } from './stored.ts';

/** How many events of one kind stand where. */
export interface Tally {
  readonly kind: string;
  readonly status: Status;
  readonly events: number;
}

/** The store at a glance. Times are milliseconds since the epoch. */
export interface Overview {
  readonly tallies: readonly Tally[];
  /** when the oldest event that is not finished was received; replayed ones do not count, as they are meant to be old */
  readonly oldestPendingAt: number | undefined;
  readonly quarantined: number;
  /** notifications that the quarantine had no room for, since the database was made */
  readonly quarantineLost: number;
}

/** How far one search goes. It costs no more than its reach, however many events there are. */
export interface Stretch {
  /** only what comes after this event in the order of the search: newest first, but for what a replay takes */
  readonly before?: string | undefined;
  /** events looked at, at most */
  readonly reach: number;
  /** events found, at most */
  readonly limit: number;
}

export interface Found {
  readonly events: readonly StoredEvent[];
  /** what to search on before; undefined where everything was searched */
  readonly next: EventId | undefined;
}

export interface Picked {
  readonly ids: readonly EventId[];
  /** what to go on before; undefined where everything was looked at */
  readonly next: EventId | undefined;
}

/** Where an event stands among those of its resource. */
export interface Timeline {
  /** newest event time first, the event itself among them */
  readonly events: readonly StoredEvent[];
  /** a newer one of the resource was handled before this one */
  readonly late: boolean;
}

export type ChannelState = 'active' | 'idle';

/** What the newest event of a live channel says of it. */
export interface Channel {
  /** `channel:ID` */
  readonly resource: string;
  readonly siteId: string;
  readonly state: ChannelState;
  /** the event time of what said so, milliseconds since the epoch */
  readonly since: number;
  readonly event: EventId;
}

export interface ChannelPage {
  readonly state?: ChannelState | undefined;
  /** only those after this one, as `channel:ID` */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface Channels {
  readonly counts: Readonly<Record<ChannelState, number>>;
  /** those whose state changed last come first */
  readonly channels: readonly Channel[];
}

/** A step that `ctx.once` has done for an event. */
export interface DoneStep {
  readonly name: string;
  /** JSON; null where the step returned nothing */
  readonly result: string | null;
}

/** A webhook that something in quarantine names. */
export interface WaitingWebhook {
  readonly webhookId: string;
  readonly notifications: number;
}

export interface QuarantineSummary {
  readonly total: number;
  /** the 500 for which most is there */
  readonly webhooks: readonly (WaitingWebhook & { readonly firstAt: number; readonly lastAt: number })[];
  /** fewer than asked for where they are large */
  readonly newest: readonly Omit<Unproven, 'digest' | 'place' | 'bytes'>[];
}

/** Questions of people who look at the store. None of them holds up what writes, or grows with the number of events. */
export interface EventSearch {
  overview(): Promise<Overview>;
  /** Newest first: by event time where the filter has a resource or times, else as received. */
  search(filter: EventFilter, stretch: Stretch): Promise<Found>;
  /** What a replay would take, in its order: what is finished or put off, and not pruned, oldest event time first. */
  replayable(filter: EventFilter, stretch: Stretch): Promise<Picked>;
  /** At most so many on either side of the event; undefined if there is no such event. */
  timeline(id: string, each: number): Promise<Timeline | undefined>;
  channels(page: ChannelPage): Promise<Channels>;
  steps(id: string): Promise<readonly DoneStep[]>;
  /** What waits in quarantine: how much for each webhook, and the newest. */
  quarantineSummary(newest: number): Promise<QuarantineSummary>;
}
