import type { Clock } from '../../base/clock.ts';
import { Arrivals } from '../arrivals.ts';
import type { Awaitable, Entry, SecretTables } from '../driver.ts';
import type { EventId } from '../event-id.ts';
import type { ChannelPage, DoneStep, Stretch } from '../event-search.ts';
import type {
  Claim,
  ClaimRequest,
  EventFilter,
  EventStore,
  Page,
  QuarantinePage,
  Recorded,
  ReplayOptions,
  Settlement,
  ToQuarantine,
  VerifiedNotification,
} from '../event-store.ts';
import { copyOf, unavailable } from '../refusals.ts';
import { claim } from '../semantics/claiming.ts';
import { prune } from '../semantics/pruning.ts';
import * as quarantine from '../semantics/quarantine.ts';
import { record, take } from '../semantics/recording.ts';
import { type ReplayQuery, replayAll } from '../semantics/replay-all.ts';
import { makeReady, type Ready, type Reset, resetEvents } from '../semantics/replaying.ts';
import * as secrets from '../semantics/secrets.ts';
import { holds, keyOf, saveStep, settle, step } from '../semantics/settling.ts';
import { Vault } from '../vault.ts';
import { MemoryDatabase } from './database.ts';
import * as readers from './readers.ts';

export interface MemoryOptions {
  readonly clock: Clock;
  /** one that other instances have too, as processes share a file; without it, one of its own */
  readonly database?: MemoryDatabase | undefined;
}

/** What a request does to a database, given its input. */
type Operation<I extends readonly unknown[], O> = (database: MemoryDatabase, ...input: I) => Awaitable<O>;

/** The EventStore in memory, for tests: no file, no thread, and nothing is left of it when its process ends. */
export class MemoryStore implements EventStore {
  readonly #clock: Clock;
  readonly #database: MemoryDatabase;
  readonly #arrivals: Arrivals;
  #opened: Promise<Vault> | undefined;
  #isClosed = false;

  constructor({ clock, database = new MemoryDatabase() }: MemoryOptions) {
    this.#clock = clock;
    this.#database = database;
    this.#arrivals = new Arrivals(clock, {
      lastPlace: () => this.#do('lastPlace', lastPlace),
      take: () => this.#do('take', ({ tables }) => take(tables)),
    });
  }

  /** One transaction. What goes in is copied at once, as for a store on a thread. */
  async #do<I extends readonly unknown[], O>(
    name: string,
    operate: Operation<I, O>,
    ...input: I
  ): Promise<O> {
    if (this.#isClosed) throw unavailable('the store is closed');
    const copy = copyOf(name, input);
    return this.#database.transact(() => operate(this.#database, ...copy));
  }

  record(notification: VerifiedNotification, receivedAt = this.#clock.now()) {
    return this.#arrivals.of(this.#do('record', recordOne, { ...notification, receivedAt }));
  }

  watch(listener: () => void) {
    return this.#arrivals.watch(listener);
  }

  claim(request: ClaimRequest) {
    const given = { ...request, now: this.#clock.now() };
    return this.#do('claim', ({ tables }, asked) => claim(tables, asked), given);
  }

  renew(owner: string, leaseMs: number) {
    const until = this.#clock.now() + leaseMs;
    return this.#do('renew', ({ tables }) => tables.extendLeases(owner, until));
  }

  async settle(claim: Claim, owner: string, settlement: Settlement) {
    const given = { claim: keyOf(claim), owner, settlement, now: this.#clock.now() };
    const [isSettled] = await this.#do('settle', ({ tables }, one) => settle(tables, [one]), given);
    return isSettled === true;
  }

  step(id: EventId, name: string) {
    return this.#do('step', ({ tables }, asked) => step(tables, asked), { id, name });
  }

  holds(claim: Claim, owner: string) {
    return this.#do('holds', ({ tables }, holding) => holds(tables, holding), { claim: keyOf(claim), owner });
  }

  saveStep(claim: Claim, owner: string, { name, result }: DoneStep) {
    const given = { claim: keyOf(claim), owner, name, result };
    return this.#do('saveStep', ({ tables }, step) => saveStep(tables, step), given);
  }

  state(resource: string) {
    return this.#do('state', ({ rows }) => rows.states.get(resource) ?? []);
  }

  deleteState(resource: string) {
    return this.#do('deleteState', ({ tables }) => tables.removeState(resource));
  }

  event(id: string) {
    return this.#do('event', readers.event, id);
  }

  attempts(id: string) {
    return this.#do('attempts', readers.attempts, id);
  }

  events(filter: EventFilter, page: Page) {
    return this.#do('events', readers.events, filter, page);
  }

  eventsAfter(filter: EventFilter, after: string | undefined, limit: number) {
    return this.#do('eventsAfter', readers.eventsAfter, filter, after, limit);
  }

  receivedAfter(filter: EventFilter, after = 0, limit: number) {
    return this.#do('receivedAfter', readers.receivedAfter, filter, after, limit);
  }

  count(filter: EventFilter) {
    return this.#do('count', readers.count, filter);
  }

  overview() {
    return this.#do('overview', readers.overview);
  }

  search(filter: EventFilter, stretch: Stretch) {
    return this.#do('search', readers.search, filter, stretch);
  }

  replayable(filter: EventFilter, stretch: Stretch) {
    return this.#do('replayable', readers.replayable, { filter, stretch });
  }

  timeline(id: string, each: number) {
    return this.#do('timeline', readers.timeline, id, each);
  }

  channels(page: ChannelPage) {
    return this.#do('channels', readers.channels, page);
  }

  steps(id: string) {
    return this.#do('steps', ({ rows }) => rows.steps.get(rows.placeOf(id) ?? 0) ?? []);
  }

  replay(filter: EventFilter, options: ReplayOptions = {}) {
    const database = {
      lastPlace: () => this.#do('lastPlace', lastPlace),
      replayable: (query: ReplayQuery) => this.#do('replayable', readers.replayable, query),
      resetEvents: (reset: Reset) =>
        this.#do('resetEvents', ({ tables }, given) => resetEvents(tables, given), reset),
      makeReady: (ready: Ready) =>
        this.#do('makeReady', ({ tables }, given) => makeReady(tables, given), ready),
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

  webhooksWithOwnSecret() {
    return this.#do('webhooksWithOwnSecret', ({ tables }) => tables.ownSecrets());
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

  #vault(): Promise<Vault> {
    const on =
      <I, O>(operate: (tables: SecretTables, input: I) => Promise<O>) =>
      (input: I) =>
        this.#do(operate.name, ({ tables }, given) => operate(tables, given), input);
    this.#opened ??= Vault.open(
      {
        keyCheckOr: on(secrets.keyCheckOr),
        secrets: on(secrets.secrets),
        addSecret: on(secrets.addSecret),
        retireSecret: on(secrets.retireSecret),
        dropSecrets: on(secrets.dropSecrets),
        rekey: on(secrets.rekey),
        bindToRows: on(secrets.bindToRows),
      },
      this.#database.key,
    );
    return this.#opened;
  }

  scrub() {
    return this.#do('scrub', () => ({ toRewrite: 0, isLogInUse: false, backups: [] }));
  }

  quarantine(entry: ToQuarantine, maxBytes: number) {
    const given = { entry: { ...entry, receivedAt: this.#clock.now() }, maxBytes };
    return this.#do('quarantine', ({ tables }, arrival) => quarantine.quarantine(tables, arrival), given);
  }

  quarantined(page: QuarantinePage = {}) {
    return this.#do('quarantined', ({ tables }, asked) => quarantine.quarantined(tables, asked), page);
  }

  unproven(page: QuarantinePage = {}) {
    return this.#do('unproven', ({ tables }, asked) => quarantine.unproven(tables, asked), page);
  }

  hasQuarantined() {
    return this.#do('hasQuarantined', ({ tables }) => quarantine.hasQuarantined(tables));
  }

  quarantineSize(webhookId?: string) {
    return this.#do('quarantineSize', ({ tables }) => quarantine.quarantineSize(tables, webhookId));
  }

  waitingWebhooks(after?: string) {
    return this.#do('waitingWebhooks', ({ tables }) => quarantine.waitingWebhooks(tables, after));
  }

  quarantineSummary(newest: number) {
    return this.#do('quarantineSummary', ({ tables }) => quarantine.quarantineSummary(tables, newest));
  }

  admit(token: string) {
    return this.#arrivals.of(this.#do('admit', ({ tables }) => quarantine.admit(tables, token)));
  }

  prune(handledBefore: number, limit: number, among?: readonly string[]) {
    return this.#do('prune', ({ tables }, step) => prune(tables, step), { handledBefore, limit, among });
  }

  async clock() {
    const newestAt = await this.#do('clock', readers.newestTime);
    return { now: this.#clock.now(), newestAt };
  }

  ping() {
    return this.#do('ping', () => {});
  }

  async close() {
    this.#isClosed = true;
    this.#arrivals.stop();
    await this.#database.idle();
  }
}

function lastPlace({ tables }: MemoryDatabase): number {
  return tables.lastPlace();
}

async function recordOne({ tables }: MemoryDatabase, entry: Entry): Promise<Recorded> {
  const [recorded] = await record(tables, [entry]);
  if (!recorded) throw new Error('no answer to one notification');
  return recorded;
}
