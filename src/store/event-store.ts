import type { EventId } from './event-id.ts';
import type { DoneStep, EventSearch, WaitingWebhook } from './event-search.ts';
import type {
  Attempt,
  AttemptOutcome,
  EventFilter,
  Quarantined,
  RunningStart,
  StateChange,
  StateValue,
  Status,
  StoredEvent,
  ToQuarantine,
  Unproven,
  VerifiedNotification,
  WebhookSecret,
} from './stored.ts';

export type * from './event-search.ts';
export type * from './stored.ts';

export interface Recorded {
  readonly status: 'accepted' | 'duplicate';
  readonly id: EventId;
}

/** An event leased to one owner, to be handled now. */
export interface Claim extends StoredEvent {
  /** its place in the order in which events were received */
  readonly place: number;
  readonly body: string;
  readonly startedAt: number;
  /** other events of its resource were ready when it was claimed */
  readonly hasMore: boolean;
  /** a newer event of this resource was handled before this one first ran, since it was recorded or last replayed */
  readonly late: boolean;
  /** the state of its resource, in the order of names */
  readonly state: readonly StateValue[];
}

export interface ClaimRequest {
  /** the claiming dispatcher, as `newOwner` names it */
  readonly owner: string;
  readonly limit: number;
  /** so many of the limit go to the resources whose oldest ready event, which is no replay, was received last; 0 without it */
  readonly newest?: number | undefined;
  /** so many of the limit go to resources whose oldest ready event is a replay, although others are ready, before the newest; 0 without it */
  readonly replayed?: number | undefined;
  readonly leaseMs: number;
  /** an event whose lease expires in its last attempt becomes `dead` */
  readonly maxAttempts: number;
  /**
   * the places of the events that the owner has; without it, all that it ever claimed. Others may be leased to it all the same:
   * the answer to a claim was lost, or a crash of the database undid a result
   */
  readonly has?: readonly number[] | undefined;
  /** leaves expired leases to their owners, which may have had no chance to renew them */
  readonly spareLost?: boolean | undefined;
  /** the owner has events that it has not started: resources of events that it settles at this moment may be left to the next claim */
  readonly isAhead?: boolean | undefined;
}

export interface Claimed {
  readonly claims: readonly Claim[];
  /** how long until the next retry or lease falls due, milliseconds */
  readonly dueInMs: number | undefined;
  /** more was received than one claim takes in: the next one may find more that is ready */
  readonly isBehind?: true | undefined;
}

/** The result of a claimed event. */
export interface Settlement {
  readonly status: Exclude<Status, 'running'>;
  readonly outcome: AttemptOutcome;
  /** why it failed or was skipped */
  readonly error?: string | undefined;
  /** with `pending`: not before so many milliseconds have passed */
  readonly afterMs?: number | undefined;
  /** changes the state of the resource in the same commit */
  readonly state?: readonly StateChange[] | undefined;
  /** with `pending`: a release. The attempt does not count, and the event is ready at once with its former error */
  readonly isUncounted?: boolean | undefined;
  /** with `pending`: the event was claimed and not started. It is as if it had not been claimed */
  readonly isUnstarted?: boolean | undefined;
  /** how long after the claim the handler began, milliseconds; 0 without it */
  readonly waitedMs?: number | undefined;
  /** how long it ran, milliseconds; without it, until now */
  readonly ranMs?: number | undefined;
}

export interface ReplayOptions {
  /** forgets the stored results of `ctx.once`, so that every step runs again */
  readonly resetSteps?: boolean | undefined;
  /** starts after this event, in the order of event times: where another replay was cut short */
  readonly after?: string | undefined;
  /** called after each commit with the events that it reset; the next commit waits for the returned promise */
  readonly onStep?: ((ids: readonly EventId[]) => void | Promise<void>) | undefined;
  /** called once all events are reset and held, before any of them is ready */
  readonly onHeld?: (() => void | Promise<void>) | undefined;
  /** called after each commit that makes events ready, with their number so far; the next commit waits for the promise */
  readonly onReady?: ((events: number) => void | Promise<void>) | undefined;
  /** after an abort, no further event is reset; the reset ones are made ready all the same */
  readonly signal?: AbortSignal | undefined;
}

export interface Page {
  /** newest received first; only those received before this event */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** An event as it was received. */
export interface Received extends Pick<StoredEvent, 'body' | 'receivedAt' | 'webhookId'> {
  /** its place in the order in which events were received */
  readonly place: number;
}

/** Times in milliseconds since the epoch. */
export interface StoreClock {
  readonly now: number;
  /** the newest time of receipt or end that is stored; undefined in an empty store */
  readonly newestAt: number | undefined;
}

/** What two clocks said at the same moment. */
export interface ClockReading {
  /** as `SinceBoot` has it */
  readonly machine: string;
  readonly sinceBootMs: number;
  /** by the clock of the store, milliseconds since the epoch */
  readonly now: number;
}

/** A change of the store's clock that was not its own going on. */
export interface ClockSet {
  /** when that was seen, milliseconds since the epoch by the clock as it was set */
  readonly at: number;
  /** milliseconds; negative where it was set back */
  readonly by: number;
}

/** The work that `scrub` could not do. */
export interface Scrubbed {
  /** how many bytes would have to be rewritten to be sure; 0: none */
  readonly toRewrite: number;
  /** whether the log still holds former content, since another process reads an older state from it */
  readonly isLogInUse: boolean;
  /** files beside it that have former content as well: databases of former versions, which were moved */
  readonly backups: readonly string[];
}

export interface QuarantinePage {
  /** only entries that name this webhook */
  readonly webhook?: string | undefined;
  /** only entries after the one in this place */
  readonly after?: number | undefined;
}

export interface Kept {
  /** false also if the entry was there already, which counts as a delivery of it */
  readonly isKept: boolean;
  /** how many entries were lost for lack of room, this one or others */
  readonly lost: number;
}

/** On the calling thread, which waits for it, on a thread of its own, or on a server. */
export type StoreRuns = 'here' | 'on a thread' | 'on a server';

/**
 * The store of events. Every method that writes resolves once its change is durably committed, and rejects with
 * `STORE_UNAVAILABLE` if nothing of it was committed.
 */
export interface EventStore extends EventSearch {
  /** Where it works. Of a database on a server, other processes may reach it while this one cannot. */
  readonly runs: StoreRuns;

  /** Records a verified notification, or adds to the deliveries of the event that it repeats. */
  record(notification: VerifiedNotification, receivedAt?: number): Promise<Recorded>;

  /**
   * Calls a listener whenever something new was recorded: at once if this process recorded it, within a second if another
   * one did. It may be called for nothing. @returns a function that ends it
   */
  watch(listener: () => void): () => void;

  /**
   * Leases ready events, never two of one resource, and of each its oldest. What was received first goes first, but for `newest`, and
   * replays last, but for `replayed`. Ends expired leases of other
   * owners, and of events that the owner does not have. Events that were lost at a first attempt are ready at once, if two more are left;
   * the others that were lost together one after the other, over the length of a lease.
   */
  claim(request: ClaimRequest): Promise<Claimed>;
  /**
   * Renews the leases of an owner. @returns the events that it still holds
   * @param among only those of the events at these places, if given
   */
  renew(owner: string, leaseMs: number, among?: readonly number[]): Promise<readonly EventId[]>;
  /** Ends a claim and records its start. False if the owner had lost the lease: then nothing is changed. */
  settle(claim: Claim, owner: string, settlement: Settlement): Promise<boolean>;

  /** The stored result of a step of `ctx.once`, as JSON; undefined if the step was not done. */
  step(id: EventId, name: string): Promise<{ readonly result: string | null } | undefined>;
  /** Whether a claim still has its lease: it was not settled, released or taken over. */
  holds(claim: Claim, owner: string): Promise<boolean>;
  /**
   * Stores the result of a step, if none is stored and the claim still has its lease.
   * @returns the stored result, this one or an earlier one; undefined if none is stored
   */
  saveStep(claim: Claim, owner: string, step: DoneStep): Promise<Pick<DoneStep, 'result'> | undefined>;

  /** Gives a resource this state in place of the one that it has. A settlement under way may still change it. */
  replaceState(resource: string, values: readonly StateChange[]): Promise<void>;
  /** Deletes the state of a resource. A settlement under way may set it again. @returns how many names it had */
  deleteState(resource: string): Promise<number>;

  event(id: string): Promise<StoredEvent | undefined>;
  attempts(id: string): Promise<readonly Attempt[]>;
  /** The start of an event that runs now; undefined if none does. */
  running(id: string): Promise<RunningStart | undefined>;
  events(filter: EventFilter, page: Page): Promise<readonly StoredEvent[]>;
  /** Events in the order of receipt, after one event or from the start: for reading all of them. */
  eventsAfter(filter: EventFilter, after: string | undefined, limit: number): Promise<readonly StoredEvent[]>;
  /** The same with only the members of a recording: several times as fast. `after` is the place of the last one. */
  receivedAfter(filter: EventFilter, after: number | undefined, limit: number): Promise<readonly Received[]>;
  count(filter: EventFilter): Promise<number>;
  /**
   * Resets handled, skipped, dead and waiting events to `pending` with all attempts ahead; pruned events stay. None of
   * them runs before all are reset, so that none is late because of a newer event that also runs again. If the process
   * ends in between, the events that were already reset run 15 minutes later, in their order.
   * @returns how many events were reset, including events that another replay still holds
   */
  replay(filter: EventFilter, options?: ReplayOptions): Promise<number>;

  /** Stores a secret; several of one webhook are live side by side. */
  addSecret(webhookId: string, secret: string): Promise<void>;
  /** Ends a secret: from `retireAt` on it verifies nothing. False if there is no such secret. */
  retireSecret(webhookId: string, secret: string, retireAt: number): Promise<boolean>;
  /** All secrets that are not retired yet, oldest first. One that does not open counts as absent. */
  secrets(): Promise<readonly WebhookSecret[]>;
  /**
   * The webhooks that ever had a stored secret, in the order of their names: also if it is retired, does not open, or was
   * removed since.
   */
  webhooksWithOwnSecret(): Promise<readonly string[]>;
  /** The webhooks with a stored secret, live or retired, that does not open: its row was changed since it was sealed. */
  unreadableSecrets(): Promise<readonly string[]>;
  /** Removes the secrets that do not open, of one webhook or of all. @returns how many */
  dropUnreadableSecrets(webhookId?: string): Promise<number>;
  /**
   * Seals all secrets under another key, in one commit, and returns how many. Other processes go on with the new key.
   * @param newKey 32 bytes, if the key is given from outside; without it, a new key replaces the one in the key file
   * @throws KitError INPUT_INVALID if a key is given although the key is in a file, or the other way round;
   *   STORE_UNUSABLE if a secret does not open; then nothing is changed
   */
  rekey(newKey?: Buffer): Promise<number>;
  /**
   * Removes deleted and replaced content from the files on disk, while other processes work with them.
   * @param mostBytes a database of an older version is rewritten for this as a whole, unless it is larger than this: nothing
   *   else can be written meanwhile
   */
  scrub(mostBytes?: number): Promise<Scrubbed>;

  /**
   * Keeps an entry, and no more than `maxBytes` together. When full, the network (/24 or /56) or webhook that has most
   * gives way: of a network the webhook that it sent most for, of a webhook the network that sent most for it, the newest
   * entries first. So if many networks send for one webhook, they take room from that webhook only.
   */
  quarantine(entry: ToQuarantine, maxBytes: number): Promise<Kept>;
  /** Counts notifications that were lost before they came to the quarantine. */
  countLost(notifications: number): Promise<void>;
  /** Entries in the order of arrival, up to some 500 or about 1 MiB, one at least; none after the last. */
  quarantined(page?: QuarantinePage): Promise<readonly Quarantined[]>;
  /** The same without their tokens. */
  unproven(page?: QuarantinePage): Promise<readonly Unproven[]>;
  /** Whether anything waits in quarantine. */
  hasQuarantined(): Promise<boolean>;
  /** How many entries wait, of one webhook or all. */
  quarantineSize(webhookId?: string): Promise<number>;
  /** The webhooks that entries name, in the order of their names, up to 500 after one; none after the last. */
  waitingWebhooks(after?: string): Promise<readonly WaitingWebhook[]>;
  /** Moves an entry to the events with all its deliveries, in one commit. Undefined if it is not there, as when another process was first. */
  admit(token: string): Promise<Recorded | undefined>;

  /**
   * Removes bodies, attempts and steps of at most `limit` events that were handled or skipped before a time, and of more where
   * their bodies went as a whole month.
   * Their digests stay, so that a repeat is recognised. @returns how many
   * @param among only these events, if given
   */
  prune(handledBefore: number, limit: number, among?: readonly string[]): Promise<number>;

  /** The time by the clock of the store: the database's, whatever that of this process says. */
  clock(): Promise<StoreClock>;
  /**
   * Tells the store how long a machine has been running at a time of the store's clock, so that it sees where that clock is set.
   * @returns the last time that it was seen to be set by more than a minute; undefined if it never was
   */
  readClock(reading: ClockReading): Promise<ClockSet | undefined>;

  /** Resolves if the store can commit. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
