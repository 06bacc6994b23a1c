import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../clock.ts';
import { KitError, messageOf } from '../../errors.ts';
import type { EventId } from '../event-id.ts';
import type {
  Claim,
  ClaimRequest,
  EventFilter,
  EventStore,
  Page,
  Quarantined,
  Settlement,
  VerifiedNotification,
  WebhookSecret,
} from '../event-store.ts';
import { readOrMakeKeyFile } from '../key-file.ts';
import { Sealer } from '../seal.ts';
import { Channel } from './channel.ts';
import type { reads, writes } from './operations/index.ts';
import type { Replayed } from './operations/replay.ts';

export interface SqliteOptions {
  readonly path: string;
  readonly clock: Clock;
  /** 32 bytes; without one, a key file beside the database is used, and made if there is none */
  readonly secretsKey?: Buffer | undefined;
}

type Writer = Channel<typeof writes>;
type Reader = Channel<typeof reads>;

/** How many events one commit of a replay puts back, so that acks come through in between. */
const REPLAY_STEP = 500;
const KEY_CHECK = 'secrets key check';

/** The EventStore on a SQLite file, with one thread that writes and one for queries. */
export class SqliteStore implements EventStore {
  readonly #write: Writer;
  readonly #read: Reader;
  readonly #sealer: Sealer;
  readonly #clock: Clock;

  private constructor(write: Writer, read: Reader, sealer: Sealer, clock: Clock) {
    this.#write = write;
    this.#read = read;
    this.#sealer = sealer;
    this.#clock = clock;
  }

  /** @throws KitError STORE_UNUSABLE if the database cannot be opened, is newer, or was sealed with another key */
  static async open({ path, clock, secretsKey }: SqliteOptions): Promise<SqliteStore> {
    makeDirectory(dirname(path));
    const write: Writer = await Channel.open(path, 'write');
    try {
      const sealer = await sealerFor(write, path, secretsKey);
      return new SqliteStore(write, await Channel.open(path, 'read'), sealer, clock);
    } catch (error) {
      await write.close();
      throw error;
    }
  }

  record(notification: VerifiedNotification, receivedAt = this.#clock.now()) {
    return this.#write.call('record', { ...notification, receivedAt });
  }

  claim(request: ClaimRequest) {
    return this.#write.call('claim', { ...request, now: this.#clock.now() });
  }

  renew(owner: string, leaseMs: number) {
    return this.#write.call('renew', { owner, until: this.#clock.now() + leaseMs });
  }

  settle({ id, resource }: Claim, owner: string, settlement: Settlement) {
    return this.#write.call('settle', { id, resource, owner, settlement, now: this.#clock.now() });
  }

  release(owner: string) {
    return this.#write.call('release', { owner, now: this.#clock.now() });
  }

  step(id: EventId, name: string) {
    return this.#write.call('step', { id, name });
  }

  saveStep(id: EventId, name: string, result: string | null) {
    return this.#write.call('saveStep', { id, name, result });
  }

  event(id: string) {
    return this.#read.call('event', id);
  }

  attempts(id: string) {
    return this.#read.call('attempts', id);
  }

  events(filter: EventFilter, page: Page) {
    return this.#read.call('events', { filter, page });
  }

  eventsAfter(filter: EventFilter, after: string | undefined, limit: number) {
    return this.#read.call('eventsAfter', { filter, after, limit });
  }

  count(filter: EventFilter) {
    return this.#read.call('count', filter);
  }

  async replay(filter: EventFilter, { resetSteps = false } = {}) {
    const upTo = await this.#write.call('lastSeq', undefined);
    let total = 0;
    let after: number | undefined = 0;
    while (after !== undefined) {
      const step: Replayed = await this.#write.call('replay', {
        filter,
        resetSteps,
        after,
        upTo,
        limit: REPLAY_STEP,
      });
      total += step.count;
      after = step.last;
    }
    return total;
  }

  addSecret(webhookId: string, secret: string) {
    return this.#write.call('addSecret', {
      webhookId,
      fingerprint: this.#sealer.fingerprint(secret),
      sealed: this.#sealer.seal(secret, purposeOf(webhookId)),
      createdAt: this.#clock.now(),
    });
  }

  retireSecret(webhookId: string, secret: string, retireAt: number) {
    const fingerprint = this.#sealer.fingerprint(secret);
    return this.#write.call('retireSecret', { webhookId, fingerprint, retireAt });
  }

  async secrets(): Promise<WebhookSecret[]> {
    const rows = await this.#write.call('secrets', this.#clock.now());
    return rows.map(({ webhookId, sealed, createdAt, retireAt }) => ({
      webhookId,
      secret: this.#sealer.open(sealed, purposeOf(webhookId)),
      createdAt,
      retireAt: retireAt ?? undefined,
    }));
  }

  quarantine(entry: Omit<Quarantined, 'receivedAt'>, max: number) {
    return this.#write.call('quarantine', { entry: { ...entry, receivedAt: this.#clock.now() }, max });
  }

  quarantined(webhookId?: string) {
    return this.#read.call('quarantined', webhookId ?? null);
  }

  dismiss(token: string) {
    return this.#write.call('dismiss', token);
  }

  prune(handledBefore: number, limit: number) {
    return this.#write.call('prune', { handledBefore, limit });
  }

  /** How durable the writing connection really is. */
  settings() {
    return this.#write.call('settings', undefined);
  }

  async ping() {
    await this.#write.call('ping', null);
  }

  async close() {
    await Promise.all([this.#read.close(), this.#write.close()]);
  }
}

function purposeOf(webhookId: string): string {
  return `webhook ${webhookId}`;
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (cause) {
    throw new KitError('STORE_UNUSABLE', `cannot make the directory ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** A sealer with the database's key, which is proved against a value that the key sealed when it was first used. */
async function sealerFor(write: Writer, path: string, secretsKey: Buffer | undefined): Promise<Sealer> {
  const check = await write.call('meta', KEY_CHECK);
  const key = secretsKey ?? readOrMakeKeyFile(`${path}.key`, { mayMake: check === undefined });
  const sealer = new Sealer(key);
  const value = sealer.seal(KEY_CHECK, KEY_CHECK);
  sealer.open(check ?? (await write.call('metaOrSet', { name: KEY_CHECK, value })), KEY_CHECK);
  return sealer;
}
