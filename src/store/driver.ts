import type { EventId } from './event-id.ts';
import type { WaitingWebhook } from './event-search.ts';
import type { SealedRow } from './seal.ts';
import type {
  Attempt,
  EventFilter,
  Quarantined,
  StateChange,
  StateValue,
  Status,
  StoredEvent,
  ToQuarantine,
  Unproven,
  VerifiedNotification,
} from './stored.ts';

/** A driver of this process's own memory or file answers at once; one over a network later. */
export type Awaitable<T> = T | Promise<T>;

/** A notification that goes into the ledger. */
export interface Entry extends VerifiedNotification {
  readonly receivedAt: number;
}

/** What the ledger has of an event, as the working set needs it. */
export interface LedgerRow extends Pick<Entry, 'kind' | 'siteId' | 'resource' | 'eventTime' | 'receivedAt'> {
  /** its place in the ledger, which names it in all other tables */
  readonly event: number;
}

/** The name under which an event has its place in the queue of its resource. */
export interface Queued extends Pick<LedgerRow, 'event' | 'resource' | 'eventTime'> {}

/** An event that becomes ready, and what its lane's place among the others depends on. */
export interface Opening extends Queued {
  readonly receivedAt: number;
  readonly replays: number;
}

/** How far an event got since it was recorded or last replayed. */
export interface Progress {
  /** starts that count against the budget of retries */
  readonly attempts: number;
  /** starts that do not, since a stop cut them short */
  readonly interrupted: number;
  /** how often it was replayed */
  readonly replays: number;
  /** what its handler was told when it first ran; undefined before */
  readonly late: boolean | undefined;
  readonly lastError: string | undefined;
}

/** An event that has something to do: pending or running. */
export interface WorkRow extends Queued, Progress {
  readonly kind: string;
  /** not before then; undefined: ready, or running */
  readonly nextAttemptAt: number | undefined;
}

/** A change of a row of work. */
export interface WorkChange extends Progress {
  readonly event: number;
  readonly nextAttemptAt: number | undefined;
}

/** The lease of a resource, and the event that runs under it. */
export interface Lease extends WorkRow {
  readonly owner: string;
  readonly startedAt: number;
}

export interface NewLease {
  readonly event: number;
  readonly resource: string;
  readonly owner: string;
  readonly until: number;
  readonly startedAt: number;
}

/** The end of an event. */
export interface ResultRow extends Queued, Progress {
  readonly status: Extract<Status, 'handled' | 'skipped' | 'dead'>;
  readonly handledAt: number | undefined;
}

/** The record of a start. */
export interface AttemptRow extends Attempt {
  readonly event: number;
}

export interface TallyChange {
  readonly kind: string;
  readonly status: Exclude<Status, 'running'>;
  readonly by: number;
}

/** The state of a channel, and the event that it comes from. */
export interface ChannelRow {
  readonly resource: string;
  readonly siteId: string;
  readonly state: 'active' | 'idle';
  readonly since: number;
  readonly event: number;
  /** when that event was received */
  readonly receivedAt: number;
}

/** An event that a replay may reset. */
export interface Replayable extends WorkRow {
  readonly id: EventId;
  readonly status: Exclude<Status, 'running'>;
}

/** The event of a claim, as a handler gets it. */
export type ReadyEvent = WorkRow &
  Pick<StoredEvent, 'id' | 'digest' | 'webhookId' | 'siteId' | 'body'> &
  Pick<StoredEvent, 'receivedAt' | 'deliveries' | 'lastDeliveryAt'> & {
    /** others of its resource are ready, too */
    readonly hasMore: boolean;
  };

/** The ledger. See `EventTables`. */
export interface LedgerTables {
  /** Appends what is not there yet. @returns for each entry the place of its event, and whether it is new */
  append(
    entries: readonly Entry[],
  ): Awaitable<readonly { readonly event: number; readonly isNew: boolean }[]>;
  /** Adds deliveries to events that are there. */
  addRepeats(
    repeats: readonly { readonly event: number; readonly repeats: number; readonly lastAt: number }[],
  ): Awaitable<void>;
  /** The next events that are not in the working set yet, in the order of the ledger. */
  untaken(limit: number): Awaitable<readonly LedgerRow[]>;
  /** Notes that these, the ones that `untaken` gave, are in the working set. */
  markTaken(rows: readonly LedgerRow[]): Awaitable<void>;
  /** The places of events by their ids, in the same order; undefined where there is none. */
  placesOf(ids: readonly EventId[]): Awaitable<readonly (number | undefined)[]>;
  /** The last place of the ledger; 0 if it is empty. */
  lastPlace(): Awaitable<number>;
  /** The last place that a reader may go to who must not miss what commits late under a lower one; 0 if the ledger is empty. */
  settledPlace(): Awaitable<number>;
}

/** The working set. See `EventTables`. */
export interface WorkTables {
  addWork(rows: readonly WorkRow[]): Awaitable<void>;
  changeWork(changes: readonly WorkChange[]): Awaitable<void>;
  /** Counts a start of each event; what its handler is told is as given. */
  countStarts(starts: readonly { readonly event: number; readonly late: boolean }[]): Awaitable<void>;
  removeWork(events: readonly number[]): Awaitable<void>;
  /** Events whose time has come, earliest first. */
  due(now: number, limit: number): Awaitable<readonly (WorkRow & Opening)[]>;
  /** Ends the wait of events. */
  makeReady(events: readonly number[]): Awaitable<void>;
  /** For each resource its oldest ready event, in the order of event times and then of the ledger. */
  oldestReady(resources: readonly string[]): Awaitable<readonly (ReadyEvent | undefined)[]>;
  /** When the next event falls due or the next lease runs out; undefined if nothing waits. */
  nextDue(now: number): Awaitable<number | undefined>;
  /** Waiting events that were never started, by when they fall due and by their last error. */
  waitingWith(note: string, from: number, until: number): Awaitable<readonly (WorkRow & Opening)[]>;
}

export type FreeLanes = 'oldest' | 'newest' | 'replayed';

/** The lanes: a row for each resource that has something ready or running. See `EventTables`. */
export interface LaneTables {
  /** Tells the lanes that events, which are in work, became ready. */
  openLanes(events: readonly Opening[]): Awaitable<void>;
  /**
   * The resources that have something ready and nothing running, in the order of semantics/lane-order.ts: of those with a ready
   * event that is no replay the first or the last ones, or of the others the first ones.
   */
  freeLanes(which: FreeLanes, limit: number): Awaitable<readonly string[]>;
  lease(leases: readonly NewLease[]): Awaitable<void>;
  /** Ends leases: each lane gets its place by what is ready, or goes away. */
  freeOrClose(resources: readonly string[]): Awaitable<void>;
  /** The lease that an owner has on each resource; undefined if it has none. */
  leases(
    asked: readonly { readonly resource: string; readonly owner: string }[],
  ): Awaitable<readonly (Lease | undefined)[]>;
  /** Extends the leases of an owner, only those of some events if given. @returns their events */
  extendLeases(owner: string, until: number, among?: readonly number[]): Awaitable<readonly EventId[]>;
  /** Ends leases at a time that would end later although they began in the future: the clock was set back since. */
  shortenLeases(owner: string, now: number, until: number): Awaitable<void>;
  /** Leases that have run out, oldest event first: of other owners, and of this one those of events that it does not have. */
  lostLeases(owner: string, now: number, has?: readonly number[]): Awaitable<readonly Lease[]>;
}

/** The history. See `EventTables`. */
export interface HistoryTables {
  addAttempts(attempts: readonly AttemptRow[]): Awaitable<void>;
  addResults(results: readonly ResultRow[]): Awaitable<void>;
  removeResults(events: readonly Queued[]): Awaitable<void>;
  /** For each event, whether a newer one of its resource was handled. */
  newerHandled(events: readonly Queued[]): Awaitable<readonly boolean[]>;
  addKinds(rows: readonly LedgerRow[]): Awaitable<void>;
  addTallies(changes: readonly TallyChange[]): Awaitable<void>;
  channels(resources: readonly string[]): Awaitable<readonly (ChannelRow | undefined)[]>;
  setChannels(channels: readonly ChannelRow[]): Awaitable<void>;
}

/** Steps of `ctx.once`, and the state of resources. See `EventTables`. */
export interface StepAndStateTables {
  steps(
    asked: readonly { readonly event: number; readonly name: string }[],
  ): Awaitable<readonly ({ readonly result: string | null } | undefined)[]>;
  /** Adds a step that is not there yet. */
  addStep(step: {
    readonly event: number;
    readonly name: string;
    readonly result: string | null;
  }): Awaitable<void>;
  removeSteps(events: readonly number[]): Awaitable<void>;
  /** The state of each resource, in the order of names. */
  states(resources: readonly string[]): Awaitable<readonly (readonly StateValue[])[]>;
  changeState(
    changes: readonly { readonly resource: string; readonly changes: readonly StateChange[] }[],
  ): Awaitable<void>;
  /** @returns how many names it had */
  removeState(resource: string): Awaitable<number>;
}

/** What replays and retention ask. See `EventTables`. */
export interface ResetTables {
  /** Events that are finished or wait, and have their body, oldest event time first. */
  replayable(filter: Pick<EventFilter, 'ids' | 'status'>): Awaitable<readonly Replayable[]>;
  /** Events that ended handled or skipped before a time and have their body, in the order of their ends. */
  prunable(endedBefore: number, limit: number, among?: readonly string[]): Awaitable<readonly number[]>;
  /** Removes bodies, last errors, attempts and steps. */
  empty(events: readonly number[]): Awaitable<void>;
}

/**
 * The tables of events, within one transaction. They keep rows and know nothing of what may become of an event: that is
 * written once, in semantics/, for all databases. Each call takes and gives many rows, so that it is one statement where the
 * database is far away. Times are milliseconds since the epoch.
 */
export interface EventTables
  extends LedgerTables,
    WorkTables,
    LaneTables,
    HistoryTables,
    StepAndStateTables,
    ResetTables {}

/** The part of the quarantine that one network sent for one webhook. */
export interface Share {
  readonly webhookId: string;
  readonly network: string;
}

/** How much of the quarantine somebody holds. */
export interface Sum {
  readonly entries: number;
  readonly bytes: number;
}

/** A webhook or a network that holds something. */
export interface Holder extends Pick<Sum, 'bytes'> {
  readonly name: string;
}

/** How many holders are asked for, at most, that hold at least so many bytes. */
export interface Bound {
  readonly limit: number;
  readonly least: number;
}

/** An entry of the quarantine. */
export interface QuarantineRow extends Share, ToQuarantine, Pick<Quarantined, 'receivedAt' | 'bytes'> {
  /** the key of the entry: a token itself may have megabytes */
  readonly tokenDigest: Buffer;
}

/** Rows that are read as they are asked for: each may have megabytes. */
export type Stream<R> = Iterable<R> | AsyncIterable<R>;

/** What readers ask of the quarantine. */
export interface QuarantineReads {
  /** What these hold: a share, a webhook, a network, or for `{}` all. */
  sums(of: readonly Partial<Share>[]): Awaitable<readonly Sum[]>;
  /** The webhooks or networks that hold most bytes, of all or within one of the other kind; of equal ones the last by name. */
  largest(what: keyof Share, bound: Bound, within?: Partial<Share>): Awaitable<readonly Holder[]>;
  /** The webhooks of entries after one, in the order of their names. */
  webhooksAfter(after: string | undefined, limit: number): Awaitable<readonly WaitingWebhook[]>;
  /** When the first and the last entry of each webhook came; undefined where there is none. */
  arrivals(
    webhooks: readonly string[],
  ): Awaitable<readonly ({ readonly firstAt: number; readonly lastAt: number } | undefined)[]>;
  /** Entries behind a place, of one webhook or all, in the order of arrival. */
  quarantined(after: number, webhook: string | undefined): Stream<Quarantined>;
  unproven(after: number, webhook: string | undefined): Stream<Unproven>;
  /** All entries, the last one first. */
  unprovenBackwards(): Stream<Unproven>;
}

/** The tables of the quarantine, within one transaction; see `EventTables`. */
export interface QuarantineTables extends QuarantineReads {
  /** The place of the entry with this key; undefined if there is none. */
  entryOf(tokenDigest: Buffer): Awaitable<number | undefined>;
  addEntry(row: QuarantineRow): Awaitable<void>;
  addEntryRepeat(place: number, at: number): Awaitable<void>;
  /** Removes an entry. @returns the entry, and its repeats if it has any; undefined if it is not there */
  takeOut(tokenDigest: Buffer): Awaitable<
    | (Entry &
        Pick<QuarantineRow, keyof Share | 'bytes'> & {
          readonly repeated: { readonly repeats: number; readonly lastAt: number } | undefined;
        })
    | undefined
  >;
  /** Removes the last entry of a share. @returns its bytes; undefined if there is none */
  removeLast(share: Share): Awaitable<number | undefined>;
  /** Adds to what a share holds, its webhook, its network and all; what holds no entries then is not there. */
  addToSums(change: Share & Sum): Awaitable<void>;
  /** Adds to the number of lost entries. */
  addLost(entries: number): Awaitable<void>;
}

/** A secret as stored. */
export interface SealedSecret extends SealedRow {
  readonly createdAt: number;
}

/** The tables of secrets, within one transaction; see `EventTables`. They are small. */
export interface SecretTables {
  /** All of them, oldest first. */
  secrets(): Awaitable<readonly SealedSecret[]>;
  addSecret(row: SealedSecret): Awaitable<void>;
  /** Writes these in place of all rows, so that nothing of what was stored before is left. */
  replaceSecrets(rows: readonly SealedSecret[]): Awaitable<void>;
  /** The webhooks that ever had a row, in the order of their names. */
  ownSecrets(): Awaitable<readonly string[]>;
  /** Another text than before if anything here may have changed since, by whomever. It takes no longer for many secrets, or hardly. */
  secretsStamp(): Awaitable<string>;
  /** The value that tells a wrong key; undefined in a new database. */
  keyCheck(): Awaitable<Uint8Array | undefined>;
  /** Nothing is left of the former one. */
  setKeyCheck(check: Uint8Array): Awaitable<void>;
}

/** All tables of a database. */
export interface Tables extends EventTables, QuarantineTables, SecretTables {
  /** Writes something, since an empty commit succeeds even on a full disk. */
  ping(): Awaitable<void>;
  /** The newest time at which an event was received or ended; undefined in an empty database. */
  newestTime(): Awaitable<number | undefined>;
  /** What is kept about the database itself under a name; undefined if nothing is. */
  meta(name: string): Awaitable<Uint8Array | undefined>;
  setMeta(name: string, value: Uint8Array): Awaitable<void>;
  /**
   * What a move of the whole database writes about it, as `meta` of MARK; see semantics/marks.ts.
   * @param refusal why other programs of ours may write nothing from now on; undefined if they may. A server has to refuse those
   *   that were cut off when the move looked for them, and come back. Of a file the move sees each that has it open.
   */
  setMark(mark: Uint8Array | undefined, refusal: string | undefined): Awaitable<void>;
}
