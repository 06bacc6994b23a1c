import { isUnavailable, KitError } from '../base/errors.ts';
import type { Engine } from './engine.ts';
import type { KeySource } from './key-file.ts';
import type { SealedRow } from './operations/secrets.ts';
import { Sealer } from './seal.ts';
import type { WebhookSecret } from './stored.ts';

const OTHER_KEY =
  'the secrets were sealed under another key: give this process the SECRETS_KEY (or key file) that sealed them, and start it again';

/** A key, and the key check of the database that it fits. */
interface Held {
  readonly sealer: Sealer;
  readonly check: string;
}

/** The webhooks' secrets, sealed. Where another process seals them under a new key in the key file, the vault goes on with that one. */
export class Vault {
  readonly #engine: Engine;
  readonly #source: KeySource;
  #held: Held;
  /** what was opened, by its row: under forgeries, receivers read all secrets many times a second */
  #opened = new Map<string, string>();

  private constructor(engine: Engine, source: KeySource, held: Held) {
    this.#engine = engine;
    this.#source = source;
    this.#held = held;
  }

  /** @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets */
  static async open(engine: Engine, source: KeySource): Promise<Vault> {
    return new Vault(engine, source, await unlock(engine, source));
  }

  /** All secrets, retired ones too, oldest first. @throws KitError STORE_UNAVAILABLE if they are sealed under a key that is not here */
  async all(): Promise<WebhookSecret[]> {
    const { rows, sealer } = await this.#read();
    const opened = new Map<string, string>();
    const secrets = rows.flatMap((row) => {
      const key = JSON.stringify(row);
      const secret = this.#opened.get(key) ?? sealer.openRow(row);
      if (secret === undefined) return [];
      opened.set(key, secret);
      const { webhookId, createdAt, retireAt } = row;
      return [{ webhookId, secret, createdAt, retireAt }];
    });
    this.#opened = opened;
    return secrets;
  }

  /** Stores a secret, or changes when it retires. @returns false if it must be there and is not */
  async put({ secret, ...rest }: WebhookSecret, mustExist: boolean): Promise<boolean> {
    for (;;) {
      const { sealer, check } = this.#held;
      const row = sealer.sealRow(secret, rest);
      const done = await this.#engine.write('putSecret', { row, check, mustExist });
      if (done !== 'other key') return done;
      await this.#unlockAgain();
    }
  }

  /**
   * Seals all secrets under another key. A new key is stored before it is used, and adopted afterwards: if the process ends in between,
   * one of the two opens the database.
   * @throws KitError INPUT_INVALID if a key is given although the key is in a file, or the other way round
   */
  async rekey(given: Buffer | undefined): Promise<number> {
    if ((given !== undefined) !== this.#source.isGiven)
      throw new KitError('INPUT_INVALID', 'a new key must be given if SECRETS_KEY is, and only then');
    // Before the new key is there: once another process has changed the key since, that one may be in no file any more.
    const { check } = await this.#read();
    const next = this.#source.prepare(given);
    const sealer = new Sealer(next);
    const held = { sealer, check: sealer.keyCheck() };
    for (;;) {
      const { rows: old, sealer: former } = await this.#read();
      const rows = old.flatMap((row) => {
        const secret = former.openRow(row);
        return secret === undefined ? [] : [sealer.sealRow(secret, row)];
      });
      const seals = old.map(({ sealed }) => sealed);
      const done = await this.#engine.write('replaceSecrets', { rows, seals, check, next: held.check });
      if (done === 'other key')
        throw new KitError('STORE_UNAVAILABLE', 'another process changed the key just now: try again');
      if (!done) continue; // another process has stored one just now
      this.#source.adopt(next);
      this.#held = held;
      return rows.length;
    }
  }

  /** The secrets as they are sealed, with the key that they are sealed under. */
  async #read(): Promise<Held & { readonly rows: readonly SealedRow[] }> {
    for (;;) {
      const { rows, check } = await this.#engine.read('secrets', {});
      if (check === this.#held.check) return { ...this.#held, rows };
      await this.#unlockAgain();
    }
  }

  async #unlockAgain(): Promise<void> {
    try {
      this.#held = await unlock(this.#engine, this.#source);
    } catch (cause) {
      if (isUnavailable(cause)) throw cause;
      throw new KitError('STORE_UNAVAILABLE', OTHER_KEY, { cause });
    }
  }
}

/** The key that opens the secrets. If a crash kept that key from its place, this adopts it. */
async function unlock(engine: Engine, source: KeySource): Promise<Held> {
  const { check: known } = await engine.read('secrets', {});
  const own = new Sealer(source.read(known === undefined));
  const check = known ?? (await engine.write('keyCheckOr', { check: own.keyCheck() }));
  if (own.isKeyOf(check)) return { sealer: own, check };
  const next = source.next();
  const isNext = next !== undefined && new Sealer(next).isKeyOf(check);
  if (isNext) source.adopt(next);
  // Otherwise another process may have adopted a new key between the two reads.
  const sealer = new Sealer(isNext ? next : source.read(false));
  if (sealer.isKeyOf(check)) return { sealer, check };
  const advice = 'give the SECRETS_KEY (or key file) that sealed them';
  throw new KitError('STORE_UNUSABLE', `the stored secrets do not open with this key: ${advice}`);
}
