import { mkdirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { KitError, messageOf } from '../../base/errors.ts';
import { Arrivals } from '../arrivals.ts';
import type { EventId } from '../event-id.ts';
import type { ChannelPage, DoneStep, Stretch } from '../event-search.ts';
import type {
  Claim,
  ClaimRequest,
  EventFilter,
  EventStore,
  Page,
  QuarantinePage,
  ReplayOptions,
  Scrubbed,
  Settlement,
  ToQuarantine,
  VerifiedNotification,
} from '../event-store.ts';
import { keyFile } from '../key-file.ts';
import { type ReplayQuery, replayAll } from '../semantics/replay-all.ts';
import type { Ready, Reset } from '../semantics/replaying.ts';
import { keyOf } from '../semantics/settling.ts';
import { givenKey, Vault } from '../vault.ts';
import type { Mode } from './connection.ts';
import { backupsOf } from './move.ts';
import type { writes } from './operations/writes.ts';
import type { Operations } from './protocol.ts';
import type { reads } from './queries/reads.ts';
import { ReadGate } from './read-gate.ts';
import { LazyLink, type StoreLink } from './store-link.ts';
import { ThreadLink } from './thread-link.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  /** gives the time after a commit; without it, the log is asked when it was written, which is by the clock of its file system */
  readonly timeOfCommit?: (() => number) | undefined;
  /** 32 bytes; without one, the store uses a key file beside the database, and makes one if there is none */
  readonly secretsKey?: Buffer | undefined;
  /** false: the store works on the calling thread, which waits; commands start faster and smaller with it */
  readonly threads?: boolean | undefined;
  /** told how many milliseconds each commit took */
  readonly onCommit?: ((ms: number) => void) | undefined;
}

/** A database of this size is rewritten before the writes that wait for it time out. */
const QUICKLY_REWRITTEN = 256 * 1024 * 1024;
/** How often scrub tries to empty the log, and the pause between: ten seconds together with the tries themselves. */
const SCRUB_TRIES = 13;
const SCRUB_PAUSE_MS = 250;

type Writer = StoreLink<typeof writes>;
type Reader = StoreLink<typeof reads>;

/** The EventStore on a SQLite file, with one thread that writes and one for queries. */
export class SqliteStore implements EventStore {
  readonly #write: Writer;
  readonly #read: Reader;
  readonly #vault: Vault;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #timeOfCommit: () => number;
  readonly #arrivals: Arrivals;

  private constructor(
    { write, read, vault }: { write: Writer; read: Reader; vault: Vault },
    { path, clock, timeOfCommit }: { path: string; clock: Clock; timeOfCommit: () => number },
  ) {
    this.#path = path;
    this.#write = write;
    this.#read = read;
    this.#vault = vault;
    this.#clock = clock;
    this.#timeOfCommit = timeOfCommit;
    this.#arrivals = new Arrivals(clock, {
      lastPlace: () => write.request('lastPlace', undefined),
      take: () => write.request('take', undefined),
    });
  }

  /** @throws KitError STORE_UNUSABLE if the database cannot be opened, is newer, or was sealed with another key */
  static async open({
    path,
    clock,
    timeOfCommit,
    secretsKey,
    threads = true,
    onCommit,
  }: SqliteOptions): Promise<SqliteStore> {
    makeDirectory(dirname(path));
    const openLink = async <O extends Operations>(mode: Mode): Promise<StoreLink<O>> => {
      if (threads) return ThreadLink.open<O>(path, mode, mode === 'write' ? onCommit : undefined);
      const { LocalLink } = await import('./local-link.ts'); // a server's main thread needs no SQLite of its own
      return LocalLink.open<O>(path, mode);
    };
    const write: Writer = await openLink('write');
    try {
      const log = `${realpathSync(path)}-wal`;
      const read: Reader = new ReadGate<typeof reads>(
        new LazyLink<typeof reads>(() => openLink<typeof reads>('read')),
        {
          path: log,
          reset: () => write.request('resetLog', undefined),
        },
      );
      const vault = await Vault.open(
        {
          keyCheckOr: (given) => write.request('keyCheckOr', given),
          secrets: (input) => write.request('secrets', input),
          addSecret: (input) => write.request('addSecret', input),
          retireSecret: (input) => write.request('retireSecret', input),
          dropSecrets: (input) => write.request('dropSecrets', input),
          rekey: (input) => write.request('rekey', input),
          bindToRows: (input) => write.request('bindToRows', input),
        },
        secretsKey ? givenKey(secretsKey) : keyFile(`${path}.key`),
      );
      const ofLog = () => statSync(log).mtimeMs;
      const times = { path, clock, timeOfCommit: timeOfCommit ?? ofLog };
      return new SqliteStore({ write, read, vault }, times);
    } catch (error) {
      await write.close();
      throw error;
    }
  }

  record(notification: VerifiedNotification, receivedAt = this.#clock.now()) {
    return this.#arrivals.of(this.#write.request('record', { ...notification, receivedAt }));
  }

  watch(listener: () => void) {
    return this.#arrivals.watch(listener);
  }

  claim(request: ClaimRequest) {
    return this.#write.request('claim', { ...request, now: this.#clock.now() });
  }

  renew(owner: string, leaseMs: number) {
    return this.#write.request('renew', { owner, until: this.#clock.now() + leaseMs });
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

  deleteState(resource: string) {
    return this.#write.request('deleteState', resource);
  }

  event(id: string) {
    return this.#read.request('event', id);
  }

  attempts(id: string) {
    return this.#read.request('attempts', id);
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

  overview() {
    return this.#read.request('overview', undefined);
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

  addSecret(webhookId: string, secret: string) {
    return this.#vault.add(webhookId, secret, this.#clock.now());
  }

  async retireSecret(webhookId: string, secret: string, retireAt: number) {
    const isRetired = await this.#vault.retire(webhookId, secret, retireAt);
    // If the log cannot be emptied now, later writes soon overwrite it.
    if (isRetired) await this.#write.request('emptyLog', undefined).catch(() => false);
    return isRetired;
  }

  secrets() {
    return this.#vault.list(this.#clock.now());
  }

  webhooksWithOwnSecret() {
    return this.#write.request('ownSecrets', undefined);
  }

  unreadableSecrets() {
    return this.#vault.unreadable();
  }

  dropUnreadableSecrets(webhookId?: string) {
    return this.#vault.dropUnreadable(webhookId);
  }

  rekey(newKey?: Buffer) {
    return this.#vault.rekey(newKey);
  }

  async scrub(mostBytes = QUICKLY_REWRITTEN): Promise<Scrubbed> {
    const bytes = await this.#write.request('unzeroedBytes', undefined);
    if (bytes > 0 && bytes <= mostBytes) await this.#write.request('rewrite', undefined);
    const toRewrite = await this.#write.request('unzeroedBytes', undefined);
    const backups = backupsOf(this.#path);
    for (let tries = SCRUB_TRIES; tries > 0; tries--) {
      if (await this.#write.request('emptyLog', undefined)) return { toRewrite, isLogInUse: false, backups };
      await new Promise<void>((resolve) => this.#clock.after(SCRUB_PAUSE_MS, resolve)); // acks come through
    }
    return { toRewrite, isLogInUse: true, backups };
  }

  quarantine(entry: ToQuarantine, maxBytes: number) {
    return this.#write.request('quarantine', {
      entry: { ...entry, receivedAt: this.#clock.now() },
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
    return this.#arrivals.of(this.#write.request('admit', token));
  }

  prune(handledBefore: number, limit: number, among?: readonly string[]) {
    return this.#write.request('prune', { handledBefore, limit, among });
  }

  async clock() {
    const newestAt = await this.#write.request('newestTime', undefined);
    await this.ping();
    return { now: this.#timeOfCommit(), newestAt };
  }

  /** The actual durability of the writing connection. */
  settings() {
    return this.#write.request('settings', undefined);
  }

  async ping() {
    await this.#write.request('ping', undefined);
  }

  async close() {
    this.#arrivals.stop();
    // The last connection to close moves the log into the file and removes it. A reading connection may not do that.
    await this.#read.close();
    await this.#write.close();
  }
}

interface Step<T> {
  readonly found: readonly T[];
  readonly next: number | undefined;
}

/** Lists in short steps, since no query may read for long. */
async function inSteps<T>(
  limit: number,
  step: (at: number | undefined, left: number) => Promise<Step<T>>,
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

function makeDirectory(path: string): void {
  try {
    makeWithParents(path);
  } catch (cause) {
    throw new KitError('STORE_UNUSABLE', `cannot make the directory ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** Node's own `recursive` tries for ever where a parent is there and takes no entries, as in /proc. */
function makeWithParents(path: string): void {
  const isThere = () => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isThere()) return;
  const parent = dirname(path);
  if (parent !== path) makeWithParents(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (!isThere()) throw error; // else another process has just made it
  }
}
