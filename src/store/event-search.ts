import type { EventId } from './event-id.ts';
import type { EventFilter, StateValue, Status, StoredEvent, Unproven } from './stored.ts';

/** How many events of one kind have one status. */
export interface Tally {
  readonly kind: string;
  readonly status: Status;
  readonly events: number;
}

/** The store at a glance. Times are milliseconds since the epoch. */
export interface Overview {
  readonly tallies: readonly Tally[];
  /** when the oldest unfinished event was received; replayed events do not count, since they are old on purpose */
  readonly oldestPendingAt: number | undefined;
  readonly quarantined: number;
  /** notifications that the quarantine had no room for, since the database was made */
  readonly quarantineLost: number;
  /** how far the working set, and what is kept by it, is behind the ledger */
  readonly lag: Lag;
}

/** What was acknowledged and is not in the working set yet: no handler gets it, and the states of channels do not show it. */
export interface Lag {
  readonly events: number;
  /** how long the first of them has been in the ledger, or less where nobody knows */
  readonly ms: number;
}

/** The extent of one search. Its cost depends on its reach, not on the number of events. */
export interface Stretch {
  /** only events after this one in the order of the search: newest first, for a replay oldest first */
  readonly before?: string | undefined;
  /** the most events to search through */
  readonly reach: number;
  /** events found, at most */
  readonly limit: number;
}

export interface Found {
  readonly events: readonly StoredEvent[];
  /** the `before` of the next search; undefined if everything was searched */
  readonly next: EventId | undefined;
}

export interface Picked {
  readonly ids: readonly EventId[];
  /** the `before` of the next search; undefined if everything was searched */
  readonly next: EventId | undefined;
}

/** An event among the others of its resource. */
export interface Timeline {
  /** newest event time first, the event itself among them */
  readonly events: readonly StoredEvent[];
  /** a newer one of the resource was handled before this one */
  readonly late: boolean;
}

export type ChannelState = 'active' | 'idle';

/** The state of a live channel by its newest event: of one event time, the one received later, then the one stored later. */
export interface Channel {
  /** `channel:ID` */
  readonly resource: string;
  readonly siteId: string;
  readonly state: ChannelState;
  /** the event time of that event, milliseconds since the epoch */
  readonly since: number;
  readonly event: EventId;
}

export interface ChannelPage {
  readonly state?: ChannelState | undefined;
  /** only channels after this one, as `channel:ID` */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface Channels {
  readonly counts: Readonly<Record<ChannelState, number>>;
  /** the latest change of state first */
  readonly channels: readonly Channel[];
}

/** A stretch of the state of all media, of all channels, or of all events that belong to neither. */
export interface StatesQuery {
  readonly of: 'media' | 'channel' | 'event';
  /** undefined: every name */
  readonly name?: string | undefined;
  /** where the stretch before this one ended */
  readonly after?: StatePlace | undefined;
}

/** A name in the state of a resource. */
export interface StatePlace {
  readonly resource: string;
  readonly name: string;
}

export interface States {
  /** the values asked for, as JSON, in the order of resources and their names */
  readonly values: readonly (StatePlace & StateValue)[];
  /** the `after` of the next stretch; undefined after the last */
  readonly next: StatePlace | undefined;
}

/** A finished step of `ctx.once`. */
export interface DoneStep {
  readonly name: string;
  /** JSON; null where the step returned nothing */
  readonly result: string | null;
}

/** A webhook that entries of the quarantine name. */
export interface WaitingWebhook {
  readonly webhookId: string;
  readonly notifications: number;
}

export interface QuarantineSummary {
  readonly total: number;
  /** the 500 with the most bytes */
  readonly webhooks: readonly (WaitingWebhook & { readonly firstAt: number; readonly lastAt: number })[];
  /** fewer than asked for where they are large */
  readonly newest: readonly Omit<Unproven, 'digest' | 'place' | 'bytes'>[];
}

/** Queries of readers. None of them delays writes, or takes longer with more events. */
export interface EventSearch {
  overview(): Promise<Overview>;
  /** Newest first: by event time where the filter has a resource or times, else as received. */
  search(filter: EventFilter, stretch: Stretch): Promise<Found>;
  /** The events that a replay would reset: finished or waiting, and not pruned, oldest event time first. */
  replayable(filter: EventFilter, stretch: Stretch): Promise<Picked>;
  /** At most `each` events on either side of the event; undefined if there is no such event. */
  timeline(id: string, each: number): Promise<Timeline | undefined>;
  channels(page: ChannelPage): Promise<Channels>;
  steps(id: string): Promise<readonly DoneStep[]>;
  /** The state of a resource (`ctx.state`), in the order of names; events of any age may have set it. */
  state(resource: string): Promise<readonly StateValue[]>;
  /** What every media or every channel has in its state, under one name or all. A stretch may have few values, or none. */
  states(query: StatesQuery): Promise<States>;
  /** The quarantine: how many notifications for each webhook, and the newest of them. */
  quarantineSummary(newest: number): Promise<QuarantineSummary>;
}
