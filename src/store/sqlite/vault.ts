import { KitError, messageOf } from '../../base/errors.ts';
import type { WebhookSecret } from '../event-store.ts';
import { adoptKey, draftedKeys, draftKey, readOrMakeKeyFile } from '../key-file.ts';
import { KEY_CHECK, Sealer } from '../seal.ts';
import type { SealedSecret } from './operations/secret-rows.ts';
import type { writes } from './operations/writes.ts';
import { type StoreLink, unavailable } from './store-link.ts';

type Writer = StoreLink<typeof writes>;

/** How many keys a call meets at most, where others change it all the time. */
const MOST_KEYS = 8;

/** Where the key is: given, or in the key file. */
interface KeySource {
  /** 32 bytes */
  readonly given: Buffer | undefined;
  readonly file: string;
}

/** A key, and what the database says of the key that it is sealed with. */
interface Held {
  readonly key: Buffer;
  readonly sealer: Sealer;
  readonly keyCheck: Uint8Array;
}

/** The webhooks' secrets, sealed. Goes on with the new key when another process has sealed them anew. */
export class Vault {
  readonly #write: Writer;
  readonly #source: KeySource;
  #held: Held;

  private constructor(write: Writer, source: KeySource, held: Held) {
    this.#write = write;
    this.#source = source;
    this.#held = held;
  }

  /** @throws KitError STORE_UNUSABLE if the key is missing, or not the one that the secrets are sealed with */
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
    // Where the log cannot be emptied now, it is written over before long.
    if (isRetired) await this.#write.request('emptyLog', undefined).catch(() => false);
    return isRetired;
  }

  /** What opens and is not retired, oldest first. A row that does not open is no secret: see `unreadable`. */
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

  /** The webhooks of rows that are not as they were sealed, retired ones too. */
  async unreadable(): Promise<string[]> {
    const rows = await this.#withRows(unreadableOf);
    return [...new Set(rows.map(({ webhookId }) => String(webhookId)))];
  }

  /** Removes the rows that do not open, of one webhook or all; tells how many. */
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
   * Seals everything under another key. One that is made here is written down before it is used, and put in the key
   * file's place after: whenever the process ends in between, one of the two files opens the database.
   */
  async rekey(given: Buffer | undefined): Promise<number> {
    const { given: before, file } = this.#source;
    if ((given === undefined) !== (before === undefined)) {
      throw new KitError('INPUT_INVALID', 'a new key is to be given where SECRETS_KEY is, and only there');
    }
    const unreadable = await this.unreadable();
    if (unreadable.length > 0) {
      throw new KitError(
        'STORE_UNUSABLE',
        `a secret of ${unreadable.join(', ')} does not open, so it cannot be sealed again: remove it by --drop-unreadable, or put a backup back`,
      );
    }
    const draft = given === undefined ? draftKey(file) : undefined;
    const newKey = draft?.key ?? given;
    const rekeyed = await this.#withKey(async ({ key: oldKey, keyCheck }) => {
      const value = newKey && (await this.#write.request('rekey', { oldKey, newKey, keyCheck }));
      return value === undefined ? undefined : { value };
    });
    if (draft) adoptKey(draft.file, file);
    this.#held = await unlock(this.#write, { given, file });
    return rekeyed;
  }

  #withRows<T>(use: (held: Held, rows: readonly SealedSecret[]) => T): Promise<T> {
    return this.#withKey(async (held) => {
      const rows = await this.#write.request('secrets', { keyCheck: held.keyCheck });
      return rows && { value: use(held, rows) };
    });
  }

  /** StoreLink `use` again, with the key of now, where it gives nothing back: another process has changed the key. */
  async #withKey<T>(use: (held: Held) => Promise<{ readonly value: T } | undefined>): Promise<T> {
    for (let tries = MOST_KEYS; tries > 0; tries--) {
      const result = await use(this.#held);
      if (result) return result.value;
      this.#held = await unlock(this.#write, this.#source).catch((cause) => {
        // Not for good: what the keyring has in memory serves on until the process is started with the new key.
        throw unavailable(`the secrets were sealed under another key: ${messageOf(cause)}`);
      });
    }
    throw unavailable('the secrets are being sealed under other keys all the time');
  }
}

function unreadableOf({ sealer }: Held, rows: readonly SealedSecret[]): SealedSecret[] {
  return rows.filter((row) => sealer.openRow(row) === undefined);
}

/**
 * The key that opens what the database was sealed with; one that a crash kept from its place is put there. What the
 * first version sealed is sealed for its rows before anything else happens.
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
    // Another process may have changed the key between the one reading and the other.
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

/** The key of the key file or, where that is not the one, a key that was written down and is: it is put in its place. */
function fitting(found: Buffer, keyCheck: Uint8Array, file: string): Buffer {
  if (new Sealer(found).isKeyOf(keyCheck)) return found;
  const draft = draftedKeys(file).find(({ key }) => new Sealer(key).isKeyOf(keyCheck));
  if (draft) adoptKey(draft.file, file);
  return draft?.key ?? found;
}
