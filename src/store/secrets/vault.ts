import { KitError, messageOf } from '../../base/errors.ts';
import type { Engine } from '../engine.ts';
import { op } from '../operations.ts';
import type { WebhookSecret } from '../stored.ts';
import { adoptNextKey, type KeySource, keysAt, makeKey, nextKeyPathOf } from './key-file.ts';
import { keyCheckOf } from './sealed.ts';

export type Vault = Awaited<ReturnType<typeof openVault>>;

const WRONG_KEY =
  'the stored secrets do not open with this key: give this process the SECRETS_KEY (or key file) that sealed them, and start it again';

/**
 * The webhooks' secrets, sealed. Where another process seals them under a new key in the key file, the vault goes on with that one.
 * @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets
 */
export async function openVault(engine: Engine, given: KeySource) {
  let source = given;
  if ((await engine.read(op.keyCheck, {})) === undefined)
    await engine.write(op.addKey, { key: typeof source === 'string' ? makeKey(source) : source });
  let key = await keyInUse(engine, source);

  /** Does something with the key, and again with another one if a process has changed it. */
  const withKey = async <T>(work: (key: Buffer) => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const done = await work(key);
      if (done !== undefined) return done;
      try {
        key = await keyInUse(engine, source);
      } catch (cause) {
        throw new KitError('STORE_UNAVAILABLE', messageOf(cause), { cause });
      }
    }
  };

  /** All secrets, retired ones too, oldest first. @throws KitError STORE_UNAVAILABLE if they are sealed under a key that is not here */
  const all = () => withKey((own) => engine.read(op.secrets, { key: own }));
  return {
    all,

    /** Stores a secret, or changes when it retires. */
    put: (secret: WebhookSecret) => withKey((own) => engine.write(op.putSecret, { ...secret, key: own })),

    /**
     * Seals all secrets under another key. A new key is stored before it is used, and adopted afterwards: if the process ends in between,
     * one of the two opens the database.
     * @throws KitError INPUT_INVALID if a key is given although the key is in a file, or the other way round
     */
    async rekey(newKey: Buffer | undefined): Promise<number> {
      const path = typeof source === 'string' ? source : undefined;
      if ((newKey === undefined) === (path === undefined))
        throw new KitError('INPUT_INVALID', 'a new key must be given if SECRETS_KEY is, and only then');
      // Before the new key is there: once another process has changed the key since, that one may be in no file any more.
      await all();
      const next = newKey ?? makeKey(nextKeyPathOf(path ?? ''), path);
      const sealed = await engine.write(op.rekey, { key, next });
      if (sealed === undefined)
        throw new KitError('STORE_UNAVAILABLE', 'another process changed the key just now: try again');
      if (path === undefined) source = next;
      else adoptNextKey(path);
      key = next;
      return sealed;
    },
  };
}

/** The key that opens the secrets. If a crash kept that key from its place, this adopts it. */
async function keyInUse(engine: Engine, source: KeySource): Promise<Buffer> {
  // Twice: another process may change the key between a look at the file and one at the database.
  for (let look = 1; look <= 2; look++) {
    const [key, next] = typeof source === 'string' ? keysAt(source) : [source];
    const check = await engine.read(op.keyCheck, {});
    if (keyCheckOf(key) === check) return key;
    if (typeof source === 'string' && next && keyCheckOf(next) === check) {
      adoptNextKey(source);
      return next;
    }
  }
  throw new KitError('STORE_UNUSABLE', WRONG_KEY);
}
