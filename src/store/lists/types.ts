import type { AttemptOutcome, EventId, Pause, StateValue, Status, StoredEvent } from '../stored.ts';

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
  /** received after the event in this place */
  readonly newerThan?: number | undefined;
  /** a part of the body */
  readonly q?: string | undefined;
  /** the first line of its last error, in which `*` stands for anything */
  readonly error?: string | undefined;
}

/** The extent of one search. Its cost depends on its reach, not on the number of events. */
export interface Stretch {
  /** only events after this one in the order of the search */
  readonly after?: string | undefined;
  /** the most events to search through */
  readonly reach?: number | undefined;
  /** leaves out events that were received after the one in this place */
  readonly upTo?: number | undefined;
  /** events found, at most */
  readonly limit: number;
}

export interface Found {
  readonly events: readonly StoredEvent[];
  /** the `after` of the next search; undefined if everything was searched */
  readonly next: EventId | undefined;
}

/** When an event was received, and its place. */
export type Receipt = Pick<StoredEvent, 'seq' | 'receivedAt'>;

/** An event as it was received. */
export type Received = Pick<StoredEvent, 'seq' | 'id' | 'receivedAt' | 'webhookId' | 'body'>;

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
  /** the name of the process that ran it */
  readonly instance: string;
}

/** A start that has not ended, and so has no record. */
export interface RunningStart {
  readonly startedAt: number;
  /** from when on another process may take the event over; the one that runs it moves this on as long as it lives */
  readonly leaseUntil: number;
  readonly instance: string;
}

/** The store at a glance. Times are milliseconds since the epoch. */
export interface Overview {
  /** ready and waiting */
  readonly pending: number;
  /** of these, so many wait for a retry */
  readonly waiting: number;
  /** when the first of these is due; undefined if none waits */
  readonly nextAt: number | undefined;
  readonly running: number;
  readonly dead: number;
  /** when the event was received that has been ready for longest; undefined if none is. Replays do not count, since they are old on purpose */
  readonly oldestPendingAt: number | undefined;
  /** the same of those that no handler has started yet, and that wait for no time: one should have taken them up by now */
  readonly oldestReadyAt: number | undefined;
  /** undefined unless handling is paused */
  readonly paused: Pause | undefined;
  readonly quarantined: number;
  /** notifications that the quarantine had no room for, since the database was made */
  readonly quarantineLost: number;
}

/** Events of one kind and site that are dead, or wait after a failure, with alike errors. Times are milliseconds since the epoch. */
export interface Problem {
  /** the first line of the error; `*` stands for what differs, and in `EventFilter.error` for anything */
  readonly error: string;
  readonly kind: string;
  readonly siteId: string;
  readonly status: 'dead' | 'pending';
  readonly count: number;
  /** when the first and the last of them were received */
  readonly firstAt: number;
  readonly lastAt: number;
  /** of those that wait: when the next one is tried again */
  readonly nextAt: number | undefined;
}

export type ChannelState = 'active' | 'idle';

/** The state of a live channel by its newest event: of one event time, the one received later. */
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

/** A stretch of the state of all media, or of all channels. */
export interface StatesQuery {
  readonly of: 'media' | 'channel';
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

export interface QuarantinePage {
  /** only entries that name this webhook */
  readonly webhook?: string | undefined;
  /** only entries after the one in this place */
  readonly after?: number | undefined;
  /** 500 without it */
  readonly limit?: number | undefined;
}

/** A network or webhook, or without both all of them, and what its entries in quarantine take. */
export interface Share {
  readonly network?: string | undefined;
  readonly webhookId?: string | undefined;
  bytes: number;
  /** the place before which its entries were not looked at yet */
  before?: number | undefined;
}

/** A webhook that entries of the quarantine name. */
export interface WaitingWebhook {
  readonly webhookId: string;
  readonly notifications: number;
  readonly firstAt: number;
  readonly lastAt: number;
}
