import { isUnavailable, KitError } from '../base/errors.ts';
import type { Engine } from './engine.ts';
import type { KeySource } from './key-file.ts';
import { isKeyOf } from './seal.ts';
import type { WebhookSecret } from './stored.ts';

const WRONG_KEY =
  'the stored secrets do not open with this key: give the SECRETS_KEY (or key file) that sealed them';
const OTHER_KEY =
  'the secrets were sealed under another key: give this process the SECRETS_KEY (or key file) that sealed them, and start it again';

/** The webhooks' secrets, sealed. Where another process seals them under a new key in the key file, the vault goes on with that one. */
export class Vault {
  readonly #engine: Engine;
  readonly #source: KeySource;
  #key: Buffer;

  private constructor(engine: Engine, source: KeySource, key: Buffer) {
    this.#engine = engine;
    this.#source = source;
    this.#key = key;
  }

  /** @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets */
  static async open(engine: Engine, source: KeySource): Promise<Vault> {
    const isNew = (await engine.read('keyCheck', {})) === undefined;
    if (isNew) await engine.write('addKey', { key: source.read(true) });
    return new Vault(engine, source, await keyInUse(engine, source));
  }

  /** All secrets, retired ones too, oldest first. @throws KitError STORE_UNAVAILABLE if they are sealed under a key that is not here */
  readonly all = () => this.#withKey((key) => this.#engine.read('secrets', { key }));

  /** Stores a secret, or changes when it retires. @returns false if it must be there and is not */
  readonly put = (secret: WebhookSecret, mustExist: boolean) =>
    this.#withKey((key) => this.#engine.write('putSecret', { ...secret, key, mustExist }));

  /**
   * Seals all secrets under another key. A new key is stored before it is used, and adopted afterwards: if the process ends in between,
   * one of the two opens the database.
   * @throws KitError INPUT_INVALID if a key is given although the key is in a file, or the other way round
   */
  async rekey(given: Buffer | undefined): Promise<number> {
    if ((given !== undefined) !== this.#source.isGiven)
      throw new KitError('INPUT_INVALID', 'a new key must be given if SECRETS_KEY is, and only then');
    // Before the new key is there: once another process has changed the key since, that one may be in no file any more.
    await this.all();
    const key = this.#key;
    const next = this.#source.prepare(given);
    const sealed = await this.#engine.write('rekey', { key, next });
    if (sealed === undefined)
      throw new KitError('STORE_UNAVAILABLE', 'another process changed the key just now: try again');
    this.#source.adopt(next);
    this.#key = next;
    return sealed;
  }

  /** Does something with the key, and again with another one if a process has changed it. */
  async #withKey<T>(work: (key: Buffer) => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const done = await work(this.#key);
      if (done !== undefined) return done;
      try {
        this.#key = await keyInUse(this.#engine, this.#source);
      } catch (cause) {
        if (isUnavailable(cause)) throw cause;
        throw new KitError('STORE_UNAVAILABLE', OTHER_KEY, { cause });
      }
    }
  }
}

/** The key that opens the secrets. If a crash kept that key from its place, this adopts it. */
async function keyInUse(engine: Engine, source: KeySource): Promise<Buffer> {
  const isKey = async (key: Buffer) => isKeyOf(key, await engine.read('keyCheck', {}));
  // Twice: another process may change the key between a look at the file and one at the database.
  for (let look = 1; look <= 2; look++) {
    const next = source.next(); // first, as it may take the other's place meanwhile
    if (next && (await isKey(next))) {
      source.adopt(next);
      return next;
    }
    const key = source.read(false);
    if (await isKey(key)) return key;
  }
  throw new KitError('STORE_UNUSABLE', WRONG_KEY);
}
