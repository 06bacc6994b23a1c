import type { EventId } from './event-id.ts';
import type { EventSearch, WaitingWebhook } from './event-search.ts';
import type {
  Attempt,
  AttemptOutcome,
  EventFilter,
  Quarantined,
  Status,
  StoredEvent,
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
  readonly body: string;
  readonly startedAt: number;
  /** a newer event of this resource was handled before */
  readonly late: boolean;
}

export interface ClaimRequest {
  /** who claims; unique to a dispatcher */
  readonly owner: string;
  readonly limit: number;
  readonly leaseMs: number;
  /** an event whose lease ran out on its last attempt becomes `dead` */
  readonly maxAttempts: number;
  /** leaves leases that ran out to their owners, which may not have had the chance to renew them */
  readonly spareLost?: boolean | undefined;
}

export interface Claimed {
  readonly claims: readonly Claim[];
  /** when the next retry or lease falls due, milliseconds since the epoch */
  readonly nextDueAt: number | undefined;
}

/** What becomes of a claimed event. */
export interface Settlement {
  readonly status: Exclude<Status, 'running'>;
  readonly outcome: AttemptOutcome;
  /** why it failed or was skipped */
  readonly error?: string | undefined;
  /** with `pending`: not before then */
  readonly nextAttemptAt?: number | undefined;
}

export interface ReplayOptions {
  /** forget what `ctx.once` has stored, so that every step runs again */
  readonly resetSteps?: boolean | undefined;
  /** goes on after this event, in the order of event times: where another replay was cut short */
  readonly after?: string | undefined;
  /** called after each commit with what it put back; the next one waits for what it returns */
  readonly onStep?: ((ids: readonly EventId[]) => void | Promise<void>) | undefined;
  /** called once all are put back and none is ready yet; what is ready then was so before */
  readonly onHeld?: (() => void | Promise<void>) | undefined;
  /** called after each commit that made some ready, with how many are by then; the next one waits for what it returns */
  readonly onReady?: ((events: number) => void | Promise<void>) | undefined;
  /** once aborted, nothing more is put back; what was is made ready all the same */
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

/** What `scrub` could not do. */
export interface Scrubbed {
  /** how many bytes have to be written again to be sure; 0: none */
  readonly toRewrite: number;
  /** whether the log still holds former content, since another process reads an older state from it */
  readonly isLogInUse: boolean;
}

export interface QuarantinePage {
  /** only what names this webhook */
  readonly webhook?: string | undefined;
  /** only what came after the entry in this place */
  readonly after?: number | undefined;
}

export interface Kept {
  /** false also where it was there already */
  readonly isKept: boolean;
  /** how many there was no room for, this one or others */
  readonly lost: number;
}

/**
 * Where events live. Every method that writes resolves once its change is durably committed, and rejects with
 * `STORE_UNAVAILABLE` when nothing of it was.
 */
export interface EventStore extends EventSearch {
  /** Records a verified notification, or adds to the deliveries of the event that it repeats. */
  record(notification: VerifiedNotification, receivedAt?: number): Promise<Recorded>;

  /**
   * Leases what is ready, oldest event time first, never two of one resource; takes back leases of others that ran out,
   * those that were lost together one after the other over the length of a lease.
   */
  claim(request: ClaimRequest): Promise<Claimed>;
  /** Renews all leases of an owner; tells which events it still holds. */
  renew(owner: string, leaseMs: number): Promise<readonly EventId[]>;
  /** Ends a claim; false if the owner had lost its lease, and then nothing is changed but the attempt's record. */
  settle(claim: Claim, owner: string, settlement: Settlement): Promise<boolean>;
  /** Puts back what the owner still holds, and gives the attempts back: they were cut short, not used. */
  release(owner: string): Promise<number>;

  /** The stored result of a step of `ctx.once`, as JSON; undefined where the step was not done. */
  step(id: EventId, name: string): Promise<{ readonly result: string | null } | undefined>;
  saveStep(id: EventId, name: string, result: string | null): Promise<void>;

  event(id: string): Promise<StoredEvent | undefined>;
  attempts(id: string): Promise<readonly Attempt[]>;
  events(filter: EventFilter, page: Page): Promise<readonly StoredEvent[]>;
  /** In the order in which they were received, the first after an event or from the start: for going through all. */
  eventsAfter(filter: EventFilter, after: string | undefined, limit: number): Promise<readonly StoredEvent[]>;
  /** The same, but only what a recording holds: several times as fast. `after` is the place of the last one. */
  receivedAfter(filter: EventFilter, after: number | undefined, limit: number): Promise<readonly Received[]>;
  count(filter: EventFilter): Promise<number>;
  /**
   * Puts handled, skipped, dead and waiting events back to `pending` with all attempts before them; pruned ones stay.
   * None of them runs before all are put back, so that none is told late for a newer one that runs again as well. Where
   * the process ends in between, those that were put back run by themselves a quarter of an hour later, in their order.
   * Tells how many; what another replay has put back and not yet let go counts too.
   */
  replay(filter: EventFilter, options?: ReplayOptions): Promise<number>;

  /** Stores a secret; several of one webhook are live side by side. */
  addSecret(webhookId: string, secret: string): Promise<void>;
  /** From `retireAt` on, this secret verifies nothing. False if there is no such secret. */
  retireSecret(webhookId: string, secret: string, retireAt: number): Promise<boolean>;
  /** All secrets that are not retired yet, oldest first. One that does not open counts as absent. */
  secrets(): Promise<readonly WebhookSecret[]>;
  /** The webhooks with a stored secret, live or retired, that does not open: its row was changed since it was sealed. */
  unreadableSecrets(): Promise<readonly string[]>;
  /** Removes the secrets that do not open, of one webhook or of all; tells how many. */
  dropUnreadableSecrets(webhookId?: string): Promise<number>;
  /**
   * Seals all secrets under another key, in one commit; tells how many. Other processes go on with the new key.
   * @param newKey 32 bytes, where the key is given from outside; without it, a new one takes the key file's place
   * @throws KitError INPUT_INVALID if a key is given where the key is in a file, or the other way round;
   *   STORE_UNUSABLE if a secret does not open, and then nothing is changed
   */
  rekey(newKey?: Buffer): Promise<number>;
  /**
   * Removes from the files on disk what was deleted or replaced, beside whatever process works with them.
   * @param mostBytes a database that was made by a former version has to be written again for this, as a whole; a larger
   *   one is not, since nothing else can be written meanwhile
   */
  scrub(mostBytes?: number): Promise<Scrubbed>;

  /**
   * Keeps an entry, and no more than `maxBytes` together. When full, the network (/24 or /56) or webhook that holds most
   * gives way: of a network the webhook that it sent most for, of a webhook the network that sent most for it, the newest
   * first. What many networks send for one webhook so takes room from that webhook alone.
   */
  quarantine(entry: Omit<Quarantined, 'receivedAt' | 'place' | 'bytes'>, maxBytes: number): Promise<Kept>;
  /** Entries in the order in which they came, up to some 500 or about 1 MiB, one at least; none after the last. */
  quarantined(page?: QuarantinePage): Promise<readonly Quarantined[]>;
  /** The same without their tokens. */
  unproven(page?: QuarantinePage): Promise<readonly Unproven[]>;
  /** Whether anything waits in quarantine. */
  hasQuarantined(): Promise<boolean>;
  /** How many entries wait, of one webhook or all. */
  quarantineSize(webhookId?: string): Promise<number>;
  /** The webhooks that entries name, in the order of their names, up to 500 after one; none after the last. */
  waitingWebhooks(after?: string): Promise<readonly WaitingWebhook[]>;
  /** Takes an entry out and records it, in one commit. Undefined if it is not there, as when another process was first. */
  admit(token: string): Promise<Recorded | undefined>;

  /**
   * Removes bodies, attempts and steps of at most `limit` events that were handled or skipped before a time.
   * Their digests stay, so that a repeat is still known. Tells how many.
   * @param among only these events, where given
   */
  prune(handledBefore: number, limit: number, among?: readonly string[]): Promise<number>;

  /** Resolves if the store can commit. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
