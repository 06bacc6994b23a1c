import { KitError, messageOf } from '../../base/errors.ts';
import type { WebhookSecret } from '../event-store.ts';
import { adoptKey, nextKeys, readOrMakeKeyFile, writeNextKey } from '../key-file.ts';
import { unavailable } from '../refusals.ts';
import { KEY_CHECK, Sealer } from '../seal.ts';
import type { SealedSecret } from './operations/secret-rows.ts';
import type { writes } from './operations/writes.ts';
import type { StoreLink } from './store-link.ts';

type Writer = StoreLink<typeof writes>;

/** How many changes of the key one request survives. */
const MOST_KEYS = 8;

/** The source of the key: given, or the key file. */
interface KeySource {
  /** 32 bytes */
  readonly given: Buffer | undefined;
  readonly file: string;
}

/** A key, and the key check of the database that it fits. */
interface Held {
  readonly key: Buffer;
  readonly sealer: Sealer;
  readonly keyCheck: Uint8Array;
}

/** The webhooks' secrets, sealed. When another process seals them under a new key, the vault goes on with that key. */
export class Vault {
  readonly #write: Writer;
  readonly #source: KeySource;
  #held: Held;

  private constructor(write: Writer, source: KeySource, held: Held) {
    this.#write = write;
    this.#source = source;
    this.#held = held;
  }

  /** @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets */
  static async open(write: Writer, source: KeySource): Promise<Vault> {
    return new Vault(write, source, await unlock(write, source));
  }

  add(webhookId: string, secret: string, createdAt: number): Promise<void> {
    return this.#withKey(async ({ sealer, keyCheck }) => {
      const row = sealer.sealRow(secret, webhookId, null);
      const isAdded = await this.#write.request('addSecret', { ...row, createdAt, keyCheck });
      return isAdded ? { value: undefined } : undefined;
    });
  }

  async retire(webhookId: string, secret: string, retireAt: number): Promise<boolean> {
    const isRetired = await this.#withKey(async ({ sealer, keyCheck }) => {
      const row = sealer.sealRow(secret, webhookId, retireAt);
      const value = await this.#write.request('retireSecret', { ...row, keyCheck });
      return value === undefined ? undefined : { value };
    });
    // If the log cannot be emptied now, later writes soon overwrite it.
    if (isRetired) await this.#write.request('emptyLog', undefined).catch(() => false);
    return isRetired;
  }

  /** The secrets that open and are not retired, oldest first. For rows that do not open, see `unreadable`. */
  list(now: number): Promise<WebhookSecret[]> {
    return this.#withRows(({ sealer }, rows) =>
      rows.flatMap((row) => {
        if (row.retireAt !== null && row.retireAt <= now) return [];
        const secret = sealer.openRow(row);
        const { webhookId, createdAt, retireAt } = row;
        return secret === undefined
          ? []
          : [{ webhookId, secret, createdAt, retireAt: retireAt ?? undefined }];
      }),
    );
  }

  /** The webhooks of rows that were changed since they were sealed, retired ones too. */
  async unreadable(): Promise<string[]> {
    const rows = await this.#withRows(unreadableOf);
    return [...new Set(rows.map(({ webhookId }) => String(webhookId)))];
  }

  /** Removes the rows that do not open, of one webhook or all. @returns how many */
  dropUnreadable(webhookId?: string): Promise<number> {
    return this.#withKey(async (held) => {
      const { keyCheck } = held;
      const all = await this.#write.request('secrets', { keyCheck });
      const rows =
        all &&
        unreadableOf(held, all).filter((row) => webhookId === undefined || row.webhookId === webhookId);
      const value = rows && (await this.#write.request('dropSecrets', { rows, keyCheck }));
      return value === undefined ? undefined : { value };
    });
  }

  /**
   * Seals all secrets under another key. A new key is written to a file before it is used, and that file replaces the key
   * file afterwards. If the process ends in between, one of the two files opens the database.
   */
  async rekey(given: Buffer | undefined): Promise<number> {
    const { given: before, file } = this.#source;
    if ((given === undefined) !== (before === undefined)) {
      throw new KitError('INPUT_INVALID', 'a new key must be given if SECRETS_KEY is, and only then');
    }
    const unreadable = await this.unreadable();
    if (unreadable.length > 0) {
      throw new KitError(
        'STORE_UNUSABLE',
        `a secret of ${unreadable.join(', ')} does not open, so it cannot be sealed again: remove it with --drop-unreadable, or restore a backup`,
      );
    }
    const next = given === undefined ? writeNextKey(file) : undefined;
    const newKey = next?.key ?? given;
    const rekeyed = await this.#withKey(async ({ key: oldKey, keyCheck }) => {
      const value = newKey && (await this.#write.request('rekey', { oldKey, newKey, keyCheck }));
      return value === undefined ? undefined : { value };
    });
    if (next) adoptKey(next.file, file);
    this.#held = await unlock(this.#write, { given, file });
    return rekeyed;
  }

  #withRows<T>(use: (held: Held, rows: readonly SealedSecret[]) => T): Promise<T> {
    return this.#withKey(async (held) => {
      const rows = await this.#write.request('secrets', { keyCheck: held.keyCheck });
      return rows && { value: use(held, rows) };
    });
  }

  /** Calls `use` again with the present key if it returns nothing: another process has changed the key. */
  async #withKey<T>(use: (held: Held) => Promise<{ readonly value: T } | undefined>): Promise<T> {
    for (let tries = MOST_KEYS; tries > 0; tries--) {
      const result = await use(this.#held);
      if (result) return result.value;
      this.#held = await unlock(this.#write, this.#source).catch((cause) => {
        // Not fatal: the receiver's keyring serves from memory until the process is restarted with the new key.
        throw unavailable(`the secrets were sealed under another key: ${messageOf(cause)}`);
      });
    }
    throw unavailable('other processes keep sealing the secrets under other keys');
  }
}

function unreadableOf({ sealer }: Held, rows: readonly SealedSecret[]): SealedSecret[] {
  return rows.filter((row) => sealer.openRow(row) === undefined);
}

/**
 * The key that opens the secrets. If a crash kept the file of that key from its place, this moves it there. Secrets of
 * the first version are sealed for their rows before anything else happens.
 */
async function unlock(write: Writer, source: KeySource): Promise<Held> {
  const { given, file } = source;
  const check = await write.request('meta', KEY_CHECK);
  const found = given ?? readOrMakeKeyFile(file, { mayMake: check === undefined });
  const value = new Sealer(found).keyCheck();
  const keyCheck = check ?? (await write.request('metaOrSet', { name: KEY_CHECK, value }));
  const key = given ?? fitting(found, keyCheck, file);
  const sealer = new Sealer(key);
  if (!sealer.isKeyOf(keyCheck)) {
    // Another process may have changed the key between the two reads.
    const [checkNow, keyNow] = [
      await write.request('meta', KEY_CHECK),
      given ?? readOrMakeKeyFile(file, { mayMake: false }),
    ];
    const isMoved = !Buffer.from(checkNow ?? []).equals(keyCheck) || !keyNow.equals(found);
    if (isMoved) return unlock(write, source);
  }
  if (sealer.versionOf(keyCheck) === 'current') return { key, sealer, keyCheck };
  await write.request('bindToRows', { key, keyCheck }); // unless another process has just done so
  return unlock(write, source);
}

/** The key of the key file if it fits; else the next key that fits, which this moves to the key file's place. */
function fitting(found: Buffer, keyCheck: Uint8Array, file: string): Buffer {
  if (new Sealer(found).isKeyOf(keyCheck)) return found;
  const next = nextKeys(file).find(({ key }) => new Sealer(key).isKeyOf(keyCheck));
  if (next) adoptKey(next.file, file);
  return next?.key ?? found;
}
