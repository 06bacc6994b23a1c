import { KitError, messageOf } from '../../errors.ts';
import type { WebhookSecret } from '../event-store.ts';
import { adoptKey, draftedKeys, draftKey, readOrMakeKeyFile } from '../key-file.ts';
import { KEY_CHECK, purposeOf, Sealer } from '../seal.ts';
import { type Calls, unavailable } from './channel.ts';
import type { writes } from './operations/index.ts';

type Writer = Calls<typeof writes>;

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
      const fingerprint = sealer.fingerprint(secret);
      const sealed = sealer.seal(secret, purposeOf(webhookId));
      const call = { webhookId, fingerprint, sealed, createdAt, keyCheck };
      return (await this.#write.call('addSecret', call)) ? { value: undefined } : undefined;
    });
  }

  retire(webhookId: string, secret: string, retireAt: number): Promise<boolean> {
    return this.#withKey(async ({ sealer, keyCheck }) => {
      const fingerprint = sealer.fingerprint(secret);
      const value = await this.#write.call('retireSecret', { webhookId, fingerprint, retireAt, keyCheck });
      return value === undefined ? undefined : { value };
    });
  }

  list(now: number): Promise<WebhookSecret[]> {
    return this.#withKey(async ({ sealer, keyCheck }) => {
      const rows = await this.#write.call('secrets', { keyCheck, now });
      const value = rows?.map(({ webhookId, sealed, createdAt, retireAt }) => ({
        webhookId,
        secret: sealer.open(sealed, purposeOf(webhookId)),
        createdAt,
        retireAt: retireAt ?? undefined,
      }));
      return value && { value };
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
    const draft = given === undefined ? draftKey(file) : undefined;
    const newKey = draft?.key ?? given;
    const rekeyed = await this.#withKey(async ({ key: oldKey, keyCheck }) => {
      const value = newKey && (await this.#write.call('rekey', { oldKey, newKey, keyCheck }));
      return value === undefined ? undefined : { value };
    });
    if (draft) adoptKey(draft.file, file);
    this.#held = await unlock(this.#write, { given, file });
    return rekeyed;
  }

  /** Calls `use` again, with the key of now, where it gives nothing back: another process has changed the key. */
  async #withKey<T>(use: (held: Held) => Promise<{ readonly value: T } | undefined>): Promise<T> {
    const first = await use(this.#held);
    if (first) return first.value;
    this.#held = await unlock(this.#write, this.#source).catch((cause) => {
      // Not for good: what the keyring has in memory serves on until the process is started with the new key.
      throw unavailable(`the secrets were sealed under another key: ${messageOf(cause)}`);
    });
    const second = await use(this.#held);
    if (second) return second.value;
    throw unavailable('the secrets are being sealed under other keys all the time');
  }
}

/** The key that opens what the database was sealed with; one that a crash kept from its place is put there. */
async function unlock(write: Writer, { given, file }: KeySource): Promise<Held> {
  const check = await write.call('meta', KEY_CHECK);
  const key = given ?? readOrMakeKeyFile(file, { mayMake: check === undefined });
  const sealer = new Sealer(key);
  const value = sealer.seal(KEY_CHECK, KEY_CHECK);
  const keyCheck = check ?? (await write.call('metaOrSet', { name: KEY_CHECK, value }));
  if (given === undefined && !sealer.opens(keyCheck, KEY_CHECK)) {
    const draft = draftedKeys(file).find((one) => new Sealer(one.key).opens(keyCheck, KEY_CHECK));
    if (draft) {
      adoptKey(draft.file, file);
      return { key: draft.key, sealer: new Sealer(draft.key), keyCheck };
    }
  }
  sealer.open(keyCheck, KEY_CHECK);
  return { key, sealer, keyCheck };
}
