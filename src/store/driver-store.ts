import type { Clock } from '../base/clock.ts';
import { Arrivals } from './arrivals.ts';
import type { Awaitable } from './driver.ts';
import type { EventId } from './event-id.ts';
import type {
  ChannelPage,
  Channels,
  DoneStep,
  Found,
  Overview,
  Picked,
  States,
  StatesQuery,
  Stretch,
  Timeline,
} from './event-search.ts';
import type {
  Claim,
  ClaimRequest,
  ClockReading,
  EventFilter,
  EventStore,
  Page,
  QuarantinePage,
  Received,
  ReplayOptions,
  Scrubbed,
  Settlement,
  StoreRuns,
} from './event-store.ts';
import type { StoreLink } from './link.ts';
import { detached, tokenDigest } from './quarantine-keys.ts';
import { refuseMarked } from './semantics/marks.ts';
import type { TableOperations } from './semantics/operations.ts';
import type { quarantineQueries } from './semantics/quarantine.ts';
import { type ReplayQuery, replayAll } from './semantics/replay-all.ts';
import type { Ready, Reset } from './semantics/replaying.ts';
import { keyOf } from './semantics/settling.ts';
import type {
  Attempt,
  RunningStart,
  StateChange,
  StateValue,
  StoredEvent,
  ToQuarantine,
  VerifiedNotification,
} from './stored.ts';
import { type KeySource, Vault, type VaultOperations } from './vault.ts';

/** One step of a list: no query reads for long. */
export interface ListStep<A> {
  readonly filter: EventFilter;
  /** where the list begins; the first step only needs it */
  readonly from: A | undefined;
  /** where the step before this one ended */
  readonly at: number | undefined;
  /** of events found */
  readonly limit: number;
}

/** What a step found, and where the next one begins; undefined after the last. */
export interface Listed<T> {
  readonly found: readonly T[];
  readonly next: number | undefined;
}

/** The overview as a database has it. */
export interface Counted extends Omit<Overview, 'lag'> {
  /** what is not in the working set yet, and when the first of it was received */
  readonly untaken: { readonly events: number; readonly oldestAt: number | undefined };
}

/** The queries of readers, of which each driver has its own. */
export type Queries = {
  readonly event: (id: string) => Awaitable<StoredEvent | undefined>;
  readonly attempts: (id: string) => Awaitable<readonly Attempt[]>;
  readonly running: (id: string) => Awaitable<RunningStart | undefined>;
  readonly events: (step: ListStep<string>) => Awaitable<Listed<StoredEvent>>;
  readonly eventsAfter: (step: ListStep<string>) => Awaitable<Listed<StoredEvent>>;
  readonly receivedAfter: (step: ListStep<number>) => Awaitable<Listed<Received>>;
  readonly count: (
    step: Pick<ListStep<never>, 'filter' | 'at'>,
  ) => Awaitable<{ readonly events: number; readonly next: number | undefined }>;
  readonly overview: () => Awaitable<Counted>;
  readonly search: (query: { readonly filter: EventFilter; readonly stretch: Stretch }) => Awaitable<Found>;
  readonly replayable: (query: ReplayQuery) => Awaitable<Picked>;
  readonly timeline: (query: {
    readonly id: string;
    readonly each: number;
  }) => Awaitable<Timeline | undefined>;
  readonly channels: (page: ChannelPage) => Awaitable<Channels>;
  readonly steps: (id: string) => Awaitable<readonly DoneStep[]>;
  readonly state: (resource: string) => Awaitable<readonly StateValue[]>;
  readonly states: (query: StatesQuery) => Awaitable<States>;
};

/** The queries of the quarantine, the same for all drivers. */
type QuarantineQueries = {
  readonly [N in keyof typeof quarantineQueries]: (
    input: Parameters<(typeof quarantineQueries)[N]>[1],
  ) => ReturnType<(typeof quarantineQueries)[N]>;
};

export type Reads = Queries & QuarantineQueries;

export interface DriverStoreParts {
  readonly clock: Clock;
  readonly write: StoreLink<TableOperations>;
  readonly read: StoreLink<Reads>;
  readonly vault: () => Promise<Vault>;
  /** the time by the clock of the database, just after a commit */
  readonly timeOfCommit: () => number;
}

/** The EventStore on the tables of a driver, to which it has one link that writes and one for queries. */
export abstract class DriverStore implements EventStore {
  readonly #clock: Clock;
  readonly #write: StoreLink<TableOperations>;
  readonly #read: StoreLink<Reads>;
  readonly #vault: () => Promise<Vault>;
  readonly #timeOfCommit: () => number;
  readonly #arrivals: Arrivals;

  protected constructor({ clock, write, read, vault, timeOfCommit }: DriverStoreParts) {
    this.#clock = clock;
    this.#write = write;
    this.#read = read;
    this.#vault = vault;
    this.#timeOfCommit = timeOfCommit;
    this.#arrivals = new Arrivals(clock, {
      settledPlace: () => write.request('settledPlace', undefined),
      take: () => write.request('take', undefined),
    });
  }

  abstract readonly runs: StoreRuns;
  abstract scrub(mostBytes?: number): Promise<Scrubbed>;

  record(notification: VerifiedNotification, receivedAt = this.#clock.now()) {
    return this.#arrivals.of(this.#write.request('record', { ...notification, receivedAt }));
  }

  watch(listener: () => void) {
    return this.#arrivals.watch(listener);
  }

  claim(request: ClaimRequest) {
    return this.#write.request('claim', { ...request, now: this.#clock.now() });
  }

  renew(owner: string, leaseMs: number, among?: readonly number[]) {
    const now = this.#clock.now();
    return this.#write.request('renew', { owner, now, until: now + leaseMs, among });
  }

  settle(claim: Claim, owner: string, settlement: Settlement) {
    const input = { claim: keyOf(claim), owner, settlement, now: this.#clock.now() };
    return this.#write.request('settle', input);
  }

  step(id: EventId, name: string) {
    return this.#write.request('step', { id, name });
  }

  holds(claim: Claim, owner: string) {
    return this.#write.request('holds', { claim: keyOf(claim), owner });
  }

  saveStep(claim: Claim, owner: string, { name, result }: DoneStep) {
    return this.#write.request('saveStep', { claim: keyOf(claim), owner, name, result });
  }

  state(resource: string) {
    return this.#read.request('state', resource);
  }

  states(query: StatesQuery) {
    return this.#read.request('states', query);
  }

  async replaceState(resource: string, values: readonly StateChange[]) {
    await this.#write.request('replaceState', { resource, values });
  }

  deleteState(resource: string) {
    return this.#write.request('deleteState', resource);
  }

  event(id: string) {
    return this.#read.request('event', id);
  }

  attempts(id: string) {
    return this.#read.request('attempts', id);
  }

  running(id: string) {
    return this.#read.request('running', id);
  }

  events(filter: EventFilter, { before, limit }: Page) {
    return inSteps(limit, (at, left) =>
      this.#read.request('events', { filter, from: before, at, limit: left }),
    );
  }

  eventsAfter(filter: EventFilter, after: string | undefined, limit: number) {
    return inSteps(limit, (at, left) =>
      this.#read.request('eventsAfter', { filter, from: after, at, limit: left }),
    );
  }

  receivedAfter(filter: EventFilter, after: number | undefined, limit: number) {
    return inSteps(limit, (at, left) =>
      this.#read.request('receivedAfter', { filter, from: after, at, limit: left }),
    );
  }

  async count(filter: EventFilter) {
    let total = 0;
    let at: number | undefined;
    do {
      const { events, next } = await this.#read.request('count', { filter, at });
      total += events;
      at = next;
    } while (at !== undefined);
    return total;
  }

  async overview(): Promise<Overview> {
    const { untaken, ...overview } = await this.#read.request('overview', undefined);
    const { events, oldestAt = 0 } = untaken;
    // What was admitted from quarantine was received long before it came into the ledger.
    const since = Math.max(oldestAt, this.#arrivals.behindSince ?? oldestAt);
    return { ...overview, lag: { events, ms: events === 0 ? 0 : Math.max(0, this.#clock.now() - since) } };
  }

  search(filter: EventFilter, stretch: Stretch) {
    return this.#read.request('search', { filter, stretch });
  }

  replayable(filter: EventFilter, stretch: Stretch) {
    return this.#read.request('replayable', { filter, stretch });
  }

  timeline(id: string, each: number) {
    return this.#read.request('timeline', { id, each });
  }

  channels(page: ChannelPage) {
    return this.#read.request('channels', page);
  }

  steps(id: string) {
    return this.#read.request('steps', id);
  }

  quarantineSummary(newest: number) {
    return this.#read.request('quarantineSummary', newest);
  }

  replay(filter: EventFilter, options: ReplayOptions = {}) {
    const database = {
      lastPlace: () => this.#write.request('lastPlace', undefined),
      replayable: (query: ReplayQuery) => this.#read.request('replayable', query),
      resetEvents: (reset: Reset) => this.#write.request('resetEvents', reset),
      makeReady: (ready: Ready) => this.#write.request('makeReady', ready),
    };
    return replayAll({ database, clock: this.#clock }, filter, options);
  }

  async addSecret(webhookId: string, secret: string) {
    return (await this.#vault()).add(webhookId, secret, this.#clock.now());
  }

  async retireSecret(webhookId: string, secret: string, retireAt: number) {
    return (await this.#vault()).retire(webhookId, secret, retireAt);
  }

  async secrets() {
    return (await this.#vault()).list(this.#clock.now());
  }

  async webhooksWithOwnSecret() {
    return (await this.#vault()).webhooks();
  }

  async unreadableSecrets() {
    return (await this.#vault()).unreadable();
  }

  async dropUnreadableSecrets(webhookId?: string) {
    return (await this.#vault()).dropUnreadable(webhookId);
  }

  async rekey(newKey?: Buffer) {
    return (await this.#vault()).rekey(newKey);
  }

  async countLost(notifications: number) {
    await this.#write.request('countLost', notifications);
  }

  quarantine(entry: ToQuarantine, maxBytes: number) {
    return this.#write.request('quarantine', {
      entry: { ...entry, token: detached(entry.token, entry.body), receivedAt: this.#clock.now() },
      key: tokenDigest(entry.token).toString('hex'),
      maxBytes,
    });
  }

  hasQuarantined() {
    return this.#write.request('hasQuarantined', undefined);
  }

  quarantined(page: QuarantinePage = {}) {
    return this.#read.request('quarantined', page);
  }

  unproven(page: QuarantinePage = {}) {
    return this.#read.request('unproven', page);
  }

  quarantineSize(webhookId?: string) {
    return this.#read.request('quarantineSize', webhookId);
  }

  waitingWebhooks(after?: string) {
    return this.#read.request('waitingWebhooks', after);
  }

  admit(token: string) {
    return this.#arrivals.of(this.#write.request('admit', tokenDigest(token).toString('hex')));
  }

  prune(handledBefore: number, limit: number, among?: readonly string[]) {
    return this.#write.request('prune', { handledBefore, limit, among });
  }

  async clock() {
    const newestAt = await this.#write.request('newestTime', undefined);
    await this.ping();
    return { now: this.#timeOfCommit(), newestAt };
  }

  readClock(reading: ClockReading) {
    return this.#write.request('readClock', reading);
  }

  async ping() {
    await this.#write.request('ping', undefined);
  }

  /** Queries end first: only a connection that writes can move the log of a database into its file. */
  async close() {
    this.#arrivals.stop();
    await this.#read.close();
    await this.#write.close();
  }
}

/**
 * The vault of the secrets behind a link, in a database that programs may use.
 * @throws KitError STORE_UNUSABLE if the database is one side of a move, or the key does not fit
 */
export async function openStoreVault(write: StoreLink<TableOperations>, source: KeySource): Promise<Vault> {
  refuseMarked(await write.request('mark', undefined));
  return openVault(write, source);
}

/** The vault of the secrets behind a link. */
export function openVault(write: StoreLink<TableOperations>, source: KeySource): Promise<Vault> {
  const operations = {
    stamp: () => write.request('secretsStamp', undefined),
    ownSecrets: () => write.request('ownSecrets', undefined),
    keyCheckOr: (given) => write.request('keyCheckOr', given),
    secrets: (input) => write.request('secrets', input),
    addSecret: (input) => write.request('addSecret', input),
    retireSecret: (input) => write.request('retireSecret', input),
    dropSecrets: (input) => write.request('dropSecrets', input),
    rekey: (input) => write.request('rekey', input),
    replaceSecrets: (input) => write.request('replaceSecrets', input),
    bindToRows: (input) => write.request('bindToRows', input),
  } satisfies VaultOperations;
  return Vault.open(operations, source);
}

/** Lists in short steps, since no query may read for long. */
async function inSteps<T>(
  limit: number,
  step: (at: number | undefined, left: number) => Promise<Listed<T>>,
): Promise<readonly T[]> {
  const first = await step(undefined, limit);
  const all = [...first.found];
  for (let at = first.next; at !== undefined; ) {
    const { found, next } = await step(at, limit - all.length);
    all.push(...found);
    at = next;
  }
  return all;
}
