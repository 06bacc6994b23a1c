import { randomInt } from 'node:crypto';
import type { MonotonicClock } from '../base/clock.ts';
import type { Engine, StoreOptions } from './engine.ts';
import { Gathered } from './gathered.ts';
import { op } from './operations.ts';
import type { QuarantinePage } from './quarantine/lists/entries.ts';
import { digestOf, entryOf, keepingOn } from './quarantine/room.ts';
import type { LeaseKey } from './queue/lanes.ts';
import type { Order, ReceivedQuery } from './queue/lists/search.ts';
import type { EventFilter, StatesQuery, Stretch } from './queue/lists/types.ts';
import type { Arrival } from './queue/record.ts';
import { HOLD_MS } from './queue/reset.ts';
import type { Settled, Settling } from './queue/settle.ts';
import type { Recovery } from './queue/wake.ts';
import type { ChannelPage } from './reports/channels.ts';
import type { Report } from './reports/report.ts';
import type { Vault } from './secrets/vault.ts';
import type {
  BulkOptions,
  Changed,
  Claim,
  ClaimRequest,
  DoneStep,
  EventId,
  Pause,
  ReplayOptions,
  Settlement,
  ToQuarantine,
  VerifiedNotification,
  WebhookSecret,
} from './stored.ts';

export type { DatabaseSize } from './engine.ts';
export type { QuarantinePage, WaitingWebhook } from './quarantine/lists/entries.ts';
export type { LeaseKey } from './queue/lanes.ts';
export type * from './queue/lists/types.ts';
export type { Settled } from './queue/settle.ts';
export type { Channel, ChannelPage, Channels } from './reports/channels.ts';
export type { Overview } from './reports/overview.ts';
export type { Instance, Refusals, Report, Stat, Sum } from './reports/report.ts';
export type * from './stored.ts';

export interface Recorded {
  readonly status: 'accepted' | 'duplicate';
  readonly id: EventId;
}

/** How many leases are recovered in one commit: acks come through in between. */
const STEP = 200;
/** How many events are woken, reset or dismissed in one commit. */
const WAVE = 500;

/**
 * The store of events. Every method that writes resolves once its change is committed, and rejects with `STORE_UNAVAILABLE` if it was not,
 * or if the connection broke at its commit. It waits for as long as the database does.
 */
export class EventStore {
  readonly #engine: Engine;
  readonly #vault: Vault;
  readonly #clock: MonotonicClock;
  readonly #onCommit: (ms: number) => void;
  readonly #records = new Gathered(async (list: readonly Arrival[]) => {
    const began = this.#clock.monotonic();
    const isNew = await this.#engine.write(op.record, { list });
    this.#onCommit(this.#clock.monotonic() - began);
    return isNew;
  });
  readonly #settlements = new Gathered((list: readonly Settling[]) =>
    this.#engine.write(op.settle, { list }),
  );
  readonly #entries: ReturnType<typeof keepingOn>;
  #ping: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  /** Called with the resource of each new event that this process records. */
  onRecorded: (resource: string) => void = () => {};

  constructor(engine: Engine, vault: Vault, { clock, onCommit = () => {} }: StoreOptions) {
    this.#engine = engine;
    this.#entries = keepingOn(engine);
    this.#vault = vault;
    this.#clock = clock;
    this.#onCommit = onCommit;
  }

  /** Records a verified notification, or adds to the deliveries of the event that it repeats. What comes together shares a commit. */
  async record(notification: VerifiedNotification, receivedAt = this.#clock.now()): Promise<Recorded> {
    const isNew = await this.#records.add({ ...notification, receivedAt, deliveries: 1 });
    if (isNew) this.onRecorded(notification.resource);
    return { status: isNew ? 'accepted' : 'duplicate', id: notification.id };
  }

  /**
   * Leases lanes, never one that is leased, and of each its oldest ready event. Lanes without one are closed.
   * @returns the claims, and how many lanes stay free because their events are over a limit
   */
  readonly claim = (request: ClaimRequest) => this.#engine.write(op.claim, request);

  /** Renews leases. @returns the leases that their owner still has */
  readonly renew = (list: readonly LeaseKey[], leaseMs: number) =>
    this.#engine.write(op.renew, { list, leaseMs });

  /** Ends a claim and records its start. What ends together shares a commit. */
  settle(claim: Claim, settlement: Settlement): Promise<Settled> {
    const { lease, resource, seq, starts: attempt, replays: replay } = claim;
    const askedAt = settlement.outcome === 'retry' ? (claim.askedAt ?? this.#clock.now()) : undefined;
    return this.#settlements.add({ ...settlement, lease, resource, seq, attempt, replay, askedAt });
  }

  /** Ends leases that ran out, 200 at most. @returns the resources that have a ready event, and the events that became dead */
  readonly recover = (recovery: Recovery) => this.#engine.write(op.recover, { ...recovery, limit: STEP });

  /** Makes waiting events ready whose time has come, 500 at most. @returns their resources */
  readonly wake = () => this.#engine.write(op.wake, { limit: WAVE });

  /** Opens a lane for each ready event without one (there should be none), and passes over a suspect that nobody claims. @returns how many lanes */
  async sweep(): Promise<number> {
    await this.#engine.write(op.passOver, {});
    let opened = 0;
    const sweep = (after: string) => this.#engine.write(op.sweep, { after, limit: 1000 });
    for await (const step of stepsFrom('', sweep)) opened += step.opened;
    return opened;
  }

  /** What is stored of a step of `ctx.once`, and whether the claim still has its lease: it was not settled, released or taken over. */
  readonly step = ({ lease, resource, seq }: LeaseKey, name: string) =>
    this.#engine.read(op.step, { lease, resource, seq, name });

  /**
   * Stores the result of a step, if none is stored and the claim still has its lease.
   * @returns the stored result, this one or an earlier one; undefined if none is stored
   */
  readonly saveStep = ({ lease, resource, seq }: LeaseKey, step: DoneStep) =>
    this.#engine.write(op.saveStep, { lease, resource, seq, ...step });

  /** Deletes the state of a resource. A settlement under way may set it again. @returns how many names it had */
  readonly deleteState = (resource: string) => this.#engine.write(op.deleteState, { resource });

  readonly event = (id: string) => this.#engine.read(op.event, { id });

  /** The starts of an event that ended, in their order. */
  readonly attempts = (id: string) => this.#engine.read(op.attempts, { id });

  /** The start of an event that runs now; undefined if none does. */
  readonly running = (id: string) => this.#engine.read(op.running, { id });

  /** At most `each` events of its resource on either side of an event; undefined if there is no such event. */
  readonly timeline = (id: string, each: number) => this.#engine.read(op.timeline, { id, each });

  /** One stretch of the events that match, in the order of receipt; of one resource by event time. */
  readonly search = (filter: EventFilter, stretch: Stretch, order: Order = 'newest') =>
    this.#engine.read(op.search, { filter, stretch, order });

  /** How many events match. It looks at all of them, in steps. */
  readonly count = async (filter: EventFilter): Promise<number> => (await this.tally(filter)).events;

  /**
   * Counts the events that match, newest first, and what verbs would make of them.
   * @param steps how many it takes, of some 20,000 events each; what it has then counted is all if `isAll`
   */
  async tally(filter: EventFilter, steps = Infinity) {
    const sum = { events: 0, replayable: 0, underWay: 0, dismissible: 0, isAll: false };
    const tally = (after: string | undefined) => this.#engine.read(op.tally, { filter, after });
    let left = steps;
    for await (const step of stepsFrom(undefined, tally)) {
      for (const name of ['events', 'replayable', 'underWay', 'dismissible'] as const)
        sum[name] += step[name];
      sum.isAll = step.next === undefined;
      left--;
      if (left === 0) break;
    }
    return sum;
  }

  /**
   * The events with a higher seq than `after`, in the order of receipt, a page at a time. No event that is there now is left out, however
   * late a transaction commits. Memory does not grow with the number of events.
   * @param last the last seq, from `lastSeq`; without it, that of now
   */
  async *received(filter: EventFilter, after = 0, last?: number) {
    const upTo = last ?? (await this.lastSeq());
    const page = (from: number) => this.receivedPage({ filter, after: from, limit: WAVE, upTo });
    for await (const { list } of stepsFrom(after, page)) if (list.length > 0) yield list;
  }

  /** A page of `received`: the events that match, the last event that the query looked at, and the `after` of the next page. */
  readonly receivedPage = (query: ReceivedQuery) => this.#engine.read(op.received, query);

  /** The event with the next lower seq; undefined if there is none. */
  readonly receiptBefore = (seq: number) => this.#engine.read(op.receiptBefore, { seq });

  /** Among the 20,000 events before seq, the lowest seq received at a time or later; undefined if there is none. */
  readonly firstSince = (seq: number, time: number) => this.#engine.read(op.firstSince, { seq, time });

  /** The last seq up to which all events are committed: an event that commits later has a higher one. */
  readonly lastSeq = () => this.#engine.read(op.lastSeq, {});

  /**
   * Resets handled, skipped, dead, dismissed and waiting events to `pending`, as if they had never run, but for `replays` and the results
   * of their steps; pruned events stay. None of them runs before all are reset, so that none is late because of a newer event that also
   * runs again. They run by event time. If the process ends in between, the events that it did not release run an hour later.
   */
  async replay(filter: EventFilter, options: ReplayOptions = {}): Promise<Changed> {
    const { resetSteps = false, onStep, onReady, signal } = options;
    const upTo = await this.lastSeq();
    const heldBy = this.#clock.now() + HOLD_MS + randomInt(60_000); // two replays of one moment keep apart
    const sum = { events: 0, running: 0 };
    try {
      for await (const seqs of this.#matching(filter, upTo)) {
        if (signal?.aborted) break;
        const reset = await this.#engine.write(op.reset, { seqs, status: filter.status, resetSteps, heldBy });
        sum.running += reset.running;
        sum.events += reset.events.length;
        await onStep?.(reset.events.map(({ id }) => id));
      }
    } finally {
      // Also after an interruption: the sooner these events run, the fewer newer ones run before them.
      const release = () => this.#engine.write(op.release, { heldBy, limit: WAVE });
      let ready = 0;
      for (let step = await release(); step.length > 0; step = await release()) {
        ready += step.length;
        await onReady?.(ready);
      }
    }
    return sum;
  }

  /** The seqs of events that match, oldest first, 500 at a time. */
  async *#matching(filter: EventFilter, upTo: number) {
    const page = (after: string | undefined) => this.search(filter, { after, limit: WAVE, upTo }, 'oldest');
    for await (const { events } of stepsFrom(undefined, page))
      if (events.length > 0) yield events.map(({ seq }) => ({ seq }));
  }

  /**
   * Ends pending and dead events for good, as a person says; a replay takes them up again. Running events are left out.
   * @param reason it becomes their error, as lists show it
   */
  async dismiss(filter: EventFilter, reason: string, options: BulkOptions = {}): Promise<Changed> {
    const { onStep, signal } = options;
    const upTo = await this.lastSeq();
    let events = 0;
    for (const status of filter.status ? [filter.status] : (['dead', 'pending'] as const)) {
      for await (const seqs of this.#matching({ ...filter, status }, upTo)) {
        if (signal?.aborted) return { events, running: 0 };
        const ids = await this.#engine.write(op.dismiss, { seqs, status, reason });
        events += ids.length;
        await onStep?.(ids);
      }
    }
    const isMeant = filter.status === undefined || filter.status === 'running';
    return { events, running: isMeant ? await this.count({ ...filter, status: 'running' }) : 0 };
  }

  /** From then on no process starts a handler; those that run end. Receiving goes on. */
  async pause({ reason, by }: Omit<Pause, 'since'>): Promise<void> {
    await this.#engine.write(op.pause, { value: JSON.stringify({ reason, by, since: this.#clock.now() }) });
  }

  /** Handlers start again. @returns whether handling was paused */
  readonly resume = () => this.#engine.write(op.resume, {});

  /** Empties at most `limit` events that were handled, skipped or dismissed before a time; their identities stay. @returns how many */
  readonly prune = (before: number, limit: number, among?: readonly number[]) =>
    this.#engine.write(op.prune, { before, limit, among });

  readonly overview = () => this.#engine.read(op.overview, {});

  readonly channels = (page: ChannelPage) => this.#engine.read(op.channels, page);

  /** The finished steps of an event. */
  readonly steps = (id: string) => this.#engine.read(op.steps, { id });

  /** The state of a resource (`ctx.state`), in the order of names; events of any age may have set it. */
  readonly state = (resource: string) => this.#engine.read(op.state, { resource });

  /** What every media or every channel has in its state, under one name or all. A stretch may have few values, or none. */
  readonly states = (query: StatesQuery) => this.#engine.read(op.states, query);

  /** Stores a secret; several of one webhook are live side by side. A secret that is stored already no longer retires. */
  readonly addSecret = (webhookId: string, secret: string) =>
    this.putSecret({ webhookId, secret, createdAt: this.#clock.now(), retireAt: undefined });

  /** Stores a secret with its times, as another database had it. */
  readonly putSecret = (secret: WebhookSecret) => this.#vault.put(secret);

  /** Ends a secret: from `retireAt` on it verifies nothing. */
  readonly retireSecret = (webhookId: string, secret: string, retireAt: number) =>
    this.putSecret({ webhookId, secret, createdAt: this.#clock.now(), retireAt });

  /** All secrets that are not retired yet, oldest first. */
  async secrets(): Promise<readonly WebhookSecret[]> {
    const now = this.#clock.now();
    return (await this.#vault.all()).filter(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt > now);
  }

  /** All secrets, retired ones too: a webhook that ever had one is not served by WEBHOOK_SECRET. */
  readonly everySecret = () => this.#vault.all();

  /**
   * Seals all secrets under another key, in one commit, and returns how many. Other processes go on with the new key if it is in the key
   * file. Nothing of the former key's is left in a SQLite file.
   * @param newKey 32 bytes, if the key is given from outside; without it, a new key replaces the one in the key file
   * @throws KitError INPUT_INVALID if a key is given although the key is in a file, or the other way round
   */
  async rekey(newKey?: Buffer): Promise<number> {
    const secrets = await this.#vault.rekey(newKey);
    await this.#engine.compact();
    return secrets;
  }

  /**
   * Keeps an entry in the quarantine, which holds about `maxBytes` at most: each process reads its size again once it has added a
   * twentieth of that. When the quarantine is full, a twentieth is deleted first.
   * @returns how many entries were lost for lack of room, this one or others
   */
  quarantine(entry: ToQuarantine, maxBytes: number): Promise<number> {
    return this.#entries.add({ ...entryOf(entry, this.#clock.now()), maxBytes });
  }

  /** Counts lost notifications: entries that were deleted to make room, and notifications that were never stored. */
  readonly countLost = (notifications: number) => this.#engine.write(op.countLost, { n: notifications });

  /** Removes entries for good: those that came before a time, of one webhook or all. @returns how many */
  async dropQuarantined(before: number, webhook?: string): Promise<number> {
    const step = await this.#engine.write(op.drop, { webhook, before, limit: WAVE });
    return step < WAVE ? step : step + (await this.dropQuarantined(before, webhook));
  }

  /** Entries in the order of arrival, with their tokens; none after the last. */
  readonly quarantined = (page: QuarantinePage = {}) => this.#engine.read(op.quarantined, page);

  /** How many entries wait, of one webhook or all. */
  readonly quarantineSize = (webhook?: string) => this.#engine.read(op.quarantineSize, { webhook });

  /** The quarantine: how many notifications for each webhook, and the newest of them. */
  readonly quarantineSummary = (newest: number) => this.#engine.read(op.quarantineSummary, { newest });

  /** Moves an entry to the events with all its deliveries, in one commit. Undefined if it is not there: another process may have been first. */
  async admit(token: string): Promise<Recorded | undefined> {
    const digest = digestOf(token);
    const admitted = await this.#engine.write(op.admit, { digest });
    if (!admitted) return undefined;
    if (admitted.isNew) this.onRecorded(admitted.resource);
    return { status: admitted.isNew ? 'accepted' : 'duplicate', id: admitted.id };
  }

  /** Stores what a process counted since its last report, and when it was last seen. Deletes rows that are too old. */
  readonly report = (report: Report) => this.#engine.write(op.report, report);

  /** Deletes the row of a process that stops in order, so that nobody is told that it is missing. */
  readonly leave = (name: string) => this.#engine.write(op.leave, { name });

  /** The processes that were seen within an hour and did not stop in order, by name. */
  readonly instances = () => this.#engine.read(op.instances, {});

  /** Refused requests by reason, webhook and network, the last ones first: a thousand groups, and one of each webhook with a secret. */
  readonly refusals = () => this.#engine.read(op.refusals, {});

  /** Dead events, and those that wait after a failure, by error, kind and site: the largest groups first. It looks at the newest 10,000. */
  readonly problems = () => this.#engine.read(op.problems, {});

  /** What all processes have counted since a time, by minutes or kinds. */
  readonly stats = (since: number, by: 'minute' | 'kind') => this.#engine.read(op.stats, { since, by });

  /** How large the database is, and how much room its disk has. */
  readonly size = () => this.#engine.size();

  /** Resolves once a small write has committed that takes the table locks of an ack. Calls at one time share it. */
  ping(): Promise<void> {
    this.#ping ??= this.#engine.write(op.ping, {}).finally(() => {
      this.#ping = undefined;
    });
    return this.#ping;
  }

  /** Closes the database, once the calls made before have ended. */
  close(): Promise<void> {
    this.#closing ??= this.#engine.close();
    return this.#closing;
  }

  readonly [Symbol.asyncDispose] = () => this.close();
}

/** Yields pages; the last one is the one without a `next`. */
async function* stepsFrom<P, S extends { readonly next: P | undefined }>(
  start: NoInfer<P>,
  step: (from: P) => Promise<S>,
): AsyncGenerator<S> {
  let last = await step(start);
  for (yield last; last.next !== undefined; yield last) last = await step(last.next);
}
