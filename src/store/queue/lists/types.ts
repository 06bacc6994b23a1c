import type { Origin } from '../../../notification/kinds.ts';
import type { Of, Settlement, StateValue, Status, StoredEvent } from '../../stored.ts';
import type { Lane } from '../lanes.ts';

/** Selects events; an absent member does not restrict. Times are event times, milliseconds since the epoch. */
export interface EventFilter {
  readonly ids?: readonly string[] | undefined;
  /** one, or any of several */
  readonly kind?: string | readonly string[] | undefined;
  readonly status?: Status | undefined;
  readonly origins?: readonly Origin[] | undefined;
  /** why it waits */
  readonly waiting?: StoredEvent['waiting'];
  readonly site?: string | undefined;
  /** the name of one, or '' for the handlers without a name; undefined: all */
  readonly subscriber?: string | undefined;
  readonly resource?: string | undefined;
  readonly webhook?: string | undefined;
  /** happened from this time on; an event without an event time did not, nor before one */
  readonly since?: number | undefined;
  /** happened before this time */
  readonly until?: number | undefined;
  /** received after the event with this seq */
  readonly newerThan?: number | undefined;
  /** a part of the body, or the whole id of the request that brought it */
  readonly q?: string | undefined;
  /** the first line of its last error, in which `*` stands for anything */
  readonly error?: string | undefined;
}

/** An event that should have come: of this kind and resource, with this event time or a newer one, milliseconds since the epoch. */
export type Expected = Pick<StoredEvent, 'kind' | 'resource' | 'eventTime'>;

/** The extent of one search. Its cost depends on its reach, not on the number of events. */
export interface Stretch {
  /** only events after this one in the order of the search */
  readonly after?: string | undefined;
  /** the most events to search through */
  readonly reach?: number | undefined;
  /** leaves out events with a higher seq */
  readonly upTo?: number | undefined;
  /** events found, at most */
  readonly limit: number;
}

/** When an event was received, and its seq. */
export type Receipt = Pick<StoredEvent, 'seq' | 'receivedAt'>;

/** An event as it was received. */
export type Received = Pick<StoredEvent, 'seq' | 'id' | 'receivedAt' | 'webhookId' | 'origin' | 'body'>;

/** The record of one start. */
export interface Attempt extends Pick<Settlement, 'startedAt' | 'outcome' | 'error' | 'log'> {
  /** the replay it belongs to; 0 is before the first replay */
  readonly replay: number;
  /** the number of the start, from 1 in each replay */
  readonly attempt: number;
  readonly durationMs: number;
  /** the name of the process that ran it */
  readonly instance: string;
}

/** Events of one subscriber, kind and site that are dead, or wait after a failure, with alike errors. Times are milliseconds since the epoch. */
export interface Problem extends Pick<StoredEvent, 'subscriber' | 'kind' | 'siteId'> {
  /** the first line of the error; `*` stands for what differs, and in `EventFilter.error` for anything */
  readonly error: string;
  readonly status: 'dead' | 'pending';
  readonly count: number;
  /** when the first and the last of them were received */
  readonly firstAt: number;
  readonly lastAt: number;
  /** of those that wait: when the next one is tried again */
  readonly nextAt: number | undefined;
  /** of those that wait: when a run of the oldest of them failed first */
  readonly failedSince: number | undefined;
}

/** A subscriber, and how far it is. */
export interface Subscriber {
  readonly name: string;
  /** the slots of the kinds that its processes handle */
  readonly kinds: readonly string[];
  /** how many notifications it was not given yet, whether it handles their kinds or not; it counts 10,000 at most */
  readonly behind: number;
}

/** A name in the state of a resource. */
export type StatePlace = Lane & Pick<StateValue, 'name'>;

/** A stretch of the state of all media, or of all channels. `after`: where the one before it ended. */
export type StatesQuery = Of & Readonly<{ of: 'media' | 'channel'; after?: StatePlace | undefined }>;
