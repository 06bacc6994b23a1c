import { randomBytes } from 'node:crypto';
import { isUnavailable, KitError, OtherKey } from '../base/errors.ts';
import type { SecretTables } from './driver.ts';
import { unavailable } from './refusals.ts';
import { type SealedRow, Sealer } from './seal.ts';
import type * as operations from './semantics/secrets.ts';
import type { WebhookSecret } from './stored.ts';

/** How many changes of the key one request survives. */
const MOST_KEYS = 8;

/** The operations on secrets, each in a transaction of its own. */
export type SecretOperations = {
  readonly [N in keyof typeof operations]: (typeof operations)[N] extends (
    tables: SecretTables,
    input: infer I,
  ) => infer O
    ? (input: I) => O
    : never;
};

/** The same, and what tells whether anything has changed. */
export interface VaultOperations extends SecretOperations {
  /** another text than before if anything may have changed, by whomever */
  stamp(): Promise<string>;
  /** the webhooks that ever had a secret, in the order of their names */
  ownSecrets(): Promise<readonly string[]>;
}

/** A key that is not in use yet. */
export interface NextKey {
  /** 32 bytes */
  readonly key: Buffer;
  /** Makes it the key. */
  adopt(): void;
}

/** Where the key is. */
export interface KeySource {
  /** from outside: then so is a new one */
  readonly isGiven: boolean;
  /** The key of 32 bytes; a new one if there is none and it may be made. */
  read(options: { readonly mayMake: boolean }): Buffer;
  /** The keys that a process made, and ended before it adopted one of them. */
  left(): readonly NextKey[];
  /** The next key: the given one, or a new one. */
  next(given: Buffer | undefined): NextKey;
}

/** What is wrong where no file can hold the key. */
export const NO_KEY =
  'SECRETS_KEY is not set, and with PostgreSQL it must be, the same for all processes: give it that of the others, or make the first one with "openssl rand -base64 32"';

/** A key from outside. */
export function givenKey(key: Buffer): KeySource {
  let current = key;
  return {
    isGiven: true,
    read: () => current,
    left: () => [],
    next: (given = randomBytes(32)) => ({
      key: given,
      adopt() {
        current = given;
      },
    }),
  };
}

/** A key, and the key check of the database that it fits. */
interface Held {
  readonly key: Buffer;
  readonly sealer: Sealer;
  readonly keyCheck: Uint8Array;
}

/** What the database has, opened. */
interface Opened {
  readonly secrets: readonly WebhookSecret[];
  /** the webhooks of rows that do not open */
  readonly unreadable: readonly string[];
}

/** The secrets of it that are not retired from one time to another. */
interface Live {
  readonly of: Opened;
  readonly secrets: readonly WebhookSecret[];
  readonly from: number;
  readonly until: number;
}

/** The webhooks' secrets, sealed. When another process seals them under a new key, the vault goes on with that key. */
export class Vault {
  readonly #operations: VaultOperations;
  readonly #source: KeySource;
  readonly #opened: Remembered<Opened>;
  readonly #webhooks: Remembered<readonly string[]>;
  #live: Live | undefined;
  #held: Held;

  private constructor(operations: VaultOperations, source: KeySource, held: Held) {
    this.#operations = operations;
    this.#source = source;
    this.#held = held;
    const stamp = () => operations.stamp();
    this.#opened = new Remembered(stamp, () => this.#open());
    this.#webhooks = new Remembered(stamp, () => operations.ownSecrets());
  }

  /** @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets */
  static async open(operations: VaultOperations, source: KeySource): Promise<Vault> {
    return new Vault(operations, source, await unlock(operations, source));
  }

  async add(webhookId: string, secret: string, createdAt: number): Promise<void> {
    await this.#withKey(({ sealer, keyCheck }) =>
      this.#operations.addSecret({ ...sealer.sealRow(secret, webhookId, null), createdAt, keyCheck }),
    );
  }

  /** @returns false if there is no such secret */
  retire(webhookId: string, secret: string, retireAt: number): Promise<boolean> {
    return this.#withKey(({ sealer, keyCheck }) =>
      this.#operations.retireSecret({ ...sealer.sealRow(secret, webhookId, retireAt), keyCheck }),
    );
  }

  /**
   * The secrets that open and are not retired, oldest first. For rows that do not open, see `unreadable`. As long as nothing
   * changes it is the same list: strangers make a server ask for it many times a second, and there may be thousands.
   */
  async list(now: number): Promise<readonly WebhookSecret[]> {
    const opened = await this.#opened.get();
    const last = this.#live;
    if (last?.of === opened && last.from <= now && now < last.until) return last.secrets;
    const times = opened.secrets.flatMap(({ retireAt }) => retireAt ?? []);
    const secrets = opened.secrets.filter(({ retireAt = Infinity }) => retireAt > now);
    const from = Math.max(Number.NEGATIVE_INFINITY, ...times.filter((time) => time <= now));
    const until = Math.min(Infinity, ...times.filter((time) => time > now));
    this.#live = { of: opened, secrets, from, until };
    return secrets;
  }

  /** The webhooks that ever had a secret, in the order of their names; the same list as long as nothing changes. */
  webhooks(): Promise<readonly string[]> {
    return this.#webhooks.get();
  }

  /**
   * All secrets, retired ones too, oldest first.
   * @throws KitError STORE_UNUSABLE if a row does not open
   */
  async all(): Promise<WebhookSecret[]> {
    const { rows, sealer } = await this.#rows();
    refuseUnreadable(rows.filter(isClosedTo(sealer)).map(webhookOf));
    return rows.map((row) => ({
      webhookId: row.webhookId,
      secret: sealer.openRow(row) ?? '',
      createdAt: row.createdAt,
      retireAt: row.retireAt ?? undefined,
    }));
  }

  /** Seals these in place of all secrets. */
  async replaceAll(secrets: readonly WebhookSecret[]): Promise<void> {
    await this.#withKey(({ sealer, keyCheck }) => {
      const rows = secrets.map(({ webhookId, secret, createdAt, retireAt = null }) => ({
        ...sealer.sealRow(secret, webhookId, retireAt),
        createdAt,
      }));
      return this.#operations.replaceSecrets({ rows, keyCheck });
    });
  }

  /** The webhooks of rows that were changed since they were sealed, retired ones too. */
  async unreadable(): Promise<readonly string[]> {
    return (await this.#opened.get()).unreadable;
  }

  /** Removes the rows that do not open, of one webhook or all. @returns how many */
  dropUnreadable(webhookId?: string): Promise<number> {
    return this.#withKey(async ({ sealer, keyCheck }) => {
      const all = await this.#operations.secrets({ keyCheck });
      const isMeant = (row: SealedRow) => webhookId === undefined || webhookOf(row) === webhookId;
      const rows = all?.filter(isClosedTo(sealer)).filter(isMeant);
      return rows && this.#operations.dropSecrets({ rows, keyCheck });
    });
  }

  /**
   * Seals all secrets under another key. A new key is stored before it is used, and adopted afterwards. If the process ends
   * in between, one of the two opens the database.
   */
  async rekey(given: Buffer | undefined): Promise<number> {
    if ((given !== undefined) !== this.#source.isGiven) {
      throw new KitError('INPUT_INVALID', 'a new key must be given if SECRETS_KEY is, and only then');
    }
    refuseUnreadable(await this.unreadable());
    const next = this.#source.next(given);
    const { secrets, keyCheck } = await this.#withKey(({ key: oldKey, keyCheck }) =>
      this.#operations.rekey({ oldKey, newKey: next.key, keyCheck }),
    );
    next.adopt();
    this.#held = { key: next.key, sealer: new Sealer(next.key), keyCheck };
    return secrets;
  }

  async #open(): Promise<Opened> {
    const { rows, sealer } = await this.#rows();
    const unreadable = new Set<string>();
    const secrets = rows.flatMap((row) => {
      const { webhookId, createdAt, retireAt } = row;
      const secret = sealer.openRow(row);
      if (secret !== undefined) return [{ webhookId, secret, createdAt, retireAt: retireAt ?? undefined }];
      unreadable.add(webhookOf(row));
      return [];
    });
    return { secrets, unreadable: [...unreadable] };
  }

  #rows() {
    return this.#withKey(async ({ sealer, keyCheck }) => {
      const rows = await this.#operations.secrets({ keyCheck });
      return rows && { rows, sealer };
    });
  }

  /** Calls `use` again with the present key if it returns nothing: another process has changed the key. */
  async #withKey<T>(use: (held: Held) => Promise<T | undefined>): Promise<T> {
    for (let tries = MOST_KEYS; tries > 0; tries--) {
      const result = await use(this.#held);
      if (result !== undefined) return result;
      this.#held = await unlock(this.#operations, this.#source).catch((cause) => {
        throw isUnavailable(cause) ? cause : new OtherKey(cause);
      });
    }
    throw unavailable('other processes keep sealing the secrets under other keys');
  }
}

/** Something that is read again when the stamp of the database has changed. */
class Remembered<T> {
  readonly #stamp: () => Promise<string>;
  readonly #read: () => Promise<T>;
  #last: { readonly stamp: string; readonly value: T } | undefined;

  constructor(stamp: () => Promise<string>, read: () => Promise<T>) {
    this.#stamp = stamp;
    this.#read = read;
  }

  async get(): Promise<T> {
    const stamp = await this.#stamp(); // before the rest, so that a change between the two shows the next time
    if (this.#last?.stamp !== stamp) this.#last = { stamp, value: await this.#read() };
    return this.#last.value;
  }
}

/** @param unreadable the webhooks of secrets that do not open */
function refuseUnreadable(unreadable: readonly string[]): void {
  if (unreadable.length === 0) return;
  throw new KitError(
    'STORE_UNUSABLE',
    `a secret of ${[...new Set(unreadable)].join(', ')} does not open, so it cannot be sealed again: remove it with npx hookkit secrets rekey --drop-unreadable, or restore a backup`,
  );
}

/** The webhook of a row, by which people are told of it: by hand its column may have got bytes in place of a text. */
function webhookOf({ webhookId }: { readonly webhookId: unknown }): string {
  return webhookId instanceof Uint8Array ? Buffer.from(webhookId).toString() : String(webhookId);
}

function isClosedTo(sealer: Sealer): (row: SealedRow) => boolean {
  return (row) => sealer.openRow(row) === undefined;
}

/**
 * The key that opens the secrets. If a crash kept that key from its place, this adopts it. Secrets of the first version are
 * sealed for their rows before anything else happens.
 */
async function unlock(operations: SecretOperations, source: KeySource): Promise<Held> {
  const check = await operations.keyCheckOr(undefined);
  const found = source.read({ mayMake: check === undefined });
  const own = new Sealer(found).keyCheck();
  const keyCheck = check ?? (await operations.keyCheckOr(own)) ?? own;
  const key = fitting(found, keyCheck, source);
  const sealer = new Sealer(key);
  if (!sealer.isKeyOf(keyCheck)) {
    // Another process may have changed the key between the two reads.
    const [checkNow, keyNow] = [await operations.keyCheckOr(undefined), source.read({ mayMake: false })];
    const isMoved = !Buffer.from(checkNow ?? []).equals(keyCheck) || !keyNow.equals(found);
    if (isMoved) return unlock(operations, source);
  }
  if (sealer.versionOf(keyCheck) === 'current') return { key, sealer, keyCheck };
  await operations.bindToRows({ key, keyCheck }); // unless another process has just done so
  return unlock(operations, source);
}

/** The key if it fits; else the one left of those that a process made and did not adopt, which this does. */
function fitting(found: Buffer, keyCheck: Uint8Array, source: KeySource): Buffer {
  if (new Sealer(found).isKeyOf(keyCheck)) return found;
  const next = source.left().find(({ key }) => new Sealer(key).isKeyOf(keyCheck));
  next?.adopt();
  return next?.key ?? found;
}
