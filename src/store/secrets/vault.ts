import { KitError, messageOf } from '../../base/errors.ts';
import { type Calls, callsOf, type Engine, type StoreOptions } from '../engine.ts';
import type { WebhookSecret } from '../stored.ts';
import { adoptNextKey, type KeySource, keysAt, makeKey, nextKeyPathOf } from './key-file.ts';
import { keyCheckOf, secretOperations, secretReads } from './sealed.ts';

export type Secrets = Awaited<ReturnType<typeof openSecrets>>;

const WRONG_KEY =
  'the stored secrets do not open with this key: give this process the SECRETS_KEY (or key file) that sealed them, and start it again';

/**
 * The webhooks' secrets, sealed. Where another process seals them under a new key in the key file, the vault goes on with that one.
 * @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets
 */
export async function openSecrets(engine: Engine, given: KeySource, { clock, withoutKey }: StoreOptions) {
  const calls = { ...callsOf(secretReads, engine.read), ...callsOf(secretOperations, engine.write) };
  let source = given;
  if ((await calls.keyCheck()) === undefined)
    await calls.addKey({ key: typeof source === 'string' ? makeKey(source) : source });
  let key = withoutKey ? Buffer.alloc(32) : await keyInUse(calls, source);

  /** Does something with the key, and again with another one if a process has changed it. */
  const withKey = async <T>(work: (key: Buffer) => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const done = await work(key);
      if (done !== undefined) return done;
      key = await keyInUse(calls, source).catch((cause) => {
        throw new KitError('STORE_UNAVAILABLE', messageOf(cause), { cause });
      });
    }
  };

  /** All secrets, retired ones too, oldest first. @throws KitError STORE_UNAVAILABLE if they are sealed under a key that is not here */
  const all = () => withKey((own) => calls.secrets({ key: own }));
  /** Stores a secret with its times, or changes when it retires. */
  const put = (secret: WebhookSecret) => withKey((own) => calls.putSecret({ ...secret, key: own }));
  return {
    all,

    put,

    /** Stores a secret; several of one webhook are live side by side. A secret that is stored already no longer retires. */
    add: (webhookId: string, secret: string) =>
      put({ webhookId, secret, createdAt: clock.now(), retireAt: undefined }),

    /** Ends a secret: from `retireAt` on it verifies nothing. */
    retire: (webhookId: string, secret: string, retireAt: number) =>
      put({ webhookId, secret, createdAt: clock.now(), retireAt }),

    /** All secrets that are not retired yet, oldest first. */
    async live(): Promise<readonly WebhookSecret[]> {
      const now = clock.now();
      return (await all()).filter(({ retireAt = Number.POSITIVE_INFINITY }) => retireAt > now);
    },

    /**
     * Seals all secrets under another key, in one commit, and returns how many. Other processes go on with the new key if it is in the key
     * file. Nothing of the former key's is left in a SQLite file. A new key is stored before it is used, and adopted afterwards: if the process ends in between,
     * one of the two opens the database.
     * @param newKey 32 bytes, if the key is given from outside; without it, a new key replaces the one in the key file
     * @throws KitError INPUT_INVALID if a key is given although the key is in a file, or the other way round
     */
    async rekey(newKey?: Buffer): Promise<number> {
      const path = typeof source === 'string' ? source : undefined;
      if ((newKey === undefined) === (path === undefined))
        throw new KitError('INPUT_INVALID', 'a new key must be given if SECRETS_KEY is, and only then');
      // Before the new key is there: once another process has changed the key since, that one may be in no file any more.
      await all();
      const next = newKey ?? makeKey(nextKeyPathOf(path ?? ''), path);
      const sealed = await withKey((own) => calls.rekey({ key: own, next }));
      if (path === undefined) source = next;
      else adoptNextKey(path);
      key = next;
      await engine.compact();
      return sealed;
    },
  };
}

/** The key that opens the secrets. If a crash kept that key from its place, this adopts it. */
async function keyInUse(calls: Calls<ReturnType<typeof secretReads>>, source: KeySource): Promise<Buffer> {
  // Twice: another process may change the key between a look at the file and one at the database.
  for (let look = 1; look <= 2; look++) {
    const keys = typeof source === 'string' ? keysAt(source) : [source];
    const check = await calls.keyCheck();
    const key = keys.find((one) => keyCheckOf(one) === check);
    if (typeof source === 'string' && key && key !== keys[0]) adoptNextKey(source);
    if (key) return key;
  }
  throw new KitError('STORE_UNUSABLE', WRONG_KEY);
}
