import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { dirname } from 'node:path';
import { KitError, messageOf } from '../../base/errors.ts';
import { type Db, type Dialect, insert } from '../dialect.ts';
import { type Calls, callsOf, type Engine, type KeySource, type StoreOptions, unusable } from '../engine.ts';
import type { WebhookSecret } from '../stored.ts';

export type Secrets = Awaited<ReturnType<typeof openSecrets>>;

const WRONG_KEY =
  'the stored secrets do not open with this key: give this process the SECRETS_KEY (or key file) that sealed them, and start it again';

/**
 * The webhooks' secrets, sealed. Where another process seals them under a new key in the key file, the vault goes on with that one.
 * @throws KitError STORE_UNUSABLE if the key is missing, or does not open the secrets
 */
export async function openSecrets(engine: Engine, { clock, withoutKey }: StoreOptions) {
  const calls = { ...callsOf(secretReads, engine.read), ...callsOf(secretOperations, engine.write) };
  let source = engine.keySource;
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
      return (await all()).filter(({ retireAt = Infinity }) => retireAt > clock.now());
    },

    /**
     * Seals all secrets under another key, in one commit, and returns how many. Other processes go on with the new key if it is in the key
     * file. Nothing of the former key's is left in a SQLite file. A new key is stored before it is used, and adopted afterwards: if the process ends in between,
     * one of the two opens the database.
     * @param newKey 32 bytes, if the key is given from outside, and only then; without it, a new key replaces the one in the key file
     */
    async rekey(newKey?: Buffer): Promise<number> {
      const path = typeof source === 'string' ? source : '';
      // Before the new key is there: once another process has changed the key since, that one may be in no file any more.
      await all();
      const next = newKey ?? makeKey(nextKeyPathOf(path), path);
      const sealed = await withKey((own) => calls.rekey({ key: own, next }));
      source = newKey ?? source;
      key = await keyInUse(calls, source);
      await engine.compact();
      return sealed;
    },
  };
}

/** The key that opens the secrets. If that is the next one, of a rekey or of a crash during one, it is put into its place. */
async function keyInUse(calls: Calls<ReturnType<typeof secretReads>>, source: KeySource): Promise<Buffer> {
  // Twice: another process may change the key between a look at the file and one at the database.
  for (let look = 1; look <= 2; look++) {
    const keys = typeof source === 'string' ? keysAt(source) : [source];
    const check = await calls.keyCheck();
    const key = keys.find((one) => keyCheckOf(one) === check);
    if (typeof source === 'string' && key && key !== keys[0]) adoptNextKey(source);
    if (key) return key;
  }
  throw unusable(WRONG_KEY);
}

/** A key of 32 bytes. Where the database has another one, nothing is done and the result is undefined. */
type Keyed = { readonly key: Uint8Array };

const KEY_CHECK = "SELECT value FROM meta WHERE name = 'key_check'";
const SECRETS = `SELECT webhook_id, fingerprint, sealed, retire_at, created_at FROM secrets
  ORDER BY created_at, webhook_id, fingerprint`;

/** By this the key of the database is recognised (`keyCheckOf`); undefined before the first one. */
async function keyCheck(db: Db): Promise<string | undefined> {
  return (await db.all<{ value: string }>(KEY_CHECK))[0]?.value;
}

/** All secrets that open in their rows, oldest first. */
async function secrets(db: Db, { key }: Keyed): Promise<WebhookSecret[] | undefined> {
  if ((await keyCheck(db)) !== keyCheckOf(key)) return undefined;
  return (await db.all<SealedRow>(SECRETS)).flatMap((row) => unsealed(key, row));
}

export const secretReads = () => ({ keyCheck, secrets });

export function secretOperations(d: Dialect) {
  // A statement that seals waits for another process that changes the key, and reads the key afterwards.
  const lockKey = `${KEY_CHECK} ${d.hasLocks ? 'FOR UPDATE' : ''}`;
  const addKeyCheck = "INSERT INTO meta VALUES ('key_check', $value) ON CONFLICT (name) DO NOTHING";
  const columns = 'webhook_id text, fingerprint text, sealed text, retire_at bigint, created_at bigint';
  const again = `ON CONFLICT (webhook_id, fingerprint)
    DO UPDATE SET sealed = excluded.sealed, retire_at = excluded.retire_at`;
  const put = insert(d, 'secrets', columns, again);

  return {
    /** Makes a key that of the database, unless it has one. */
    async addKey(db: Db, { key }: Keyed): Promise<void> {
      await db.all(addKeyCheck, { value: keyCheckOf(key) });
    },

    /** Stores a secret, or changes when it retires. */
    async putSecret(db: Db, { key, ...secret }: WebhookSecret & Keyed) {
      const [check] = await db.all<{ value: string }>(lockKey);
      if (check?.value !== keyCheckOf(key)) return undefined;
      await db.each(put, [sealRow(key, secret)]);
      return true;
    },

    /** Seals all secrets under another key. @returns how many */
    async rekey(db: Db, { key, next }: Keyed & { readonly next: Uint8Array }) {
      await db.all(lockKey);
      const rows = (await secrets(db, { key }))?.map((secret) => sealRow(next, secret));
      if (!rows) return undefined;
      await db.all('DELETE FROM secrets');
      await db.each(put, rows);
      await db.all("UPDATE meta SET value = $value WHERE name = 'key_check'", { value: keyCheckOf(next) });
      return rows.length;
    },
  };
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** A secret as it is stored. The seal covers the other members too, but for `createdAt`. */
type SealedRow = Omit<WebhookSecret, 'secret'> & Readonly<Record<'fingerprint' | 'sealed', string>>;

/** A sealed secret opens only in its own row, and only while its retirement is unchanged. */
const purposeOf = ({ webhookId, fingerprint, retireAt }: Omit<SealedRow, 'sealed'>) =>
  JSON.stringify(['webhook secret', webhookId, fingerprint, retireAt ?? null]);

/** The same for equal texts, and only for them; it reveals neither text nor key. */
const macOf = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('hex');

/** A text by which a key is recognised. */
const keyCheckOf = (key: Uint8Array) => macOf(key, 'secrets key check');

/** Seals a secret for its row with AES-256-GCM, so that a copy of the database without the key reveals nothing. @param key 32 bytes */
function sealRow(key: Uint8Array, { secret, ...row }: WebhookSecret): SealedRow {
  const fingerprint = macOf(key, secret);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(purposeOf({ ...row, fingerprint })));
  const text = Buffer.concat([cipher.update(secret), cipher.final()]);
  return { ...row, fingerprint, sealed: Buffer.concat([iv, cipher.getAuthTag(), text]).toString('base64') };
}

/** The secret of a row; none if another key sealed it, or for another row. */
function unsealed(key: Uint8Array, row: SealedRow): WebhookSecret[] {
  const bytes = Buffer.from(row.sealed, 'base64');
  const [iv, text] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES + TAG_BYTES)];
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(purposeOf(row))).setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    return [{ ...row, secret: Buffer.concat([decipher.update(text), decipher.final()]).toString() }];
  } catch {
    return []; // what does not authenticate says no more than that
  }
}

/** The path of the key file of a SQLite database, which only its owner may read. */
export const keyPathOf = (path: string) => `${path}.key`;
/** Where the next key is: one that a process wrote for a rekey, and did not adopt yet, or never will. */
const nextKeyPathOf = (path: string) => `${path}.next`;

/** The key in a file, then the next one if there is one. @throws KitError STORE_UNUSABLE if the file is missing, or one has no key */
function keysAt(path: string): readonly [key: Buffer, ...next: Buffer[]] {
  const next = readKey(nextKeyPathOf(path)); // first, as it may take the other's place meanwhile
  const key = readKey(path);
  if (key) return next ? [key, next] : [key];
  throw unusable(`secrets are sealed, but ${path} is missing: restore the key file or set SECRETS_KEY`);
}

/** The key in a file; undefined without the file. */
function readKey(path: string): Buffer | undefined {
  let text: string;
  try {
    text = fs.readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(`the key file ${path} cannot be read: check its owner and mode`, cause);
  }
  const key = Buffer.from(text.trim(), 'base64');
  if (key.length === 32) return key;
  throw unusable(`${path} does not hold a key (32 bytes in base64): restore the right file`);
}

/**
 * The key in a file, a new one if there is none. It is written to another file and linked into place: neither a crash nor a second process
 * leaves half a key or two.
 * @param former the key file whose owner and group are to read this one, too, whoever makes it: the service runs as one of them
 */
function makeKey(path: string, former?: string): Buffer {
  const draft = `${path}.${randomBytes(4).toString('hex')}`;
  try {
    fs.writeFileSync(draft, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600, flush: true });
    if (former !== undefined) {
      const { uid, gid, mode } = fs.statSync(former);
      fs.chownSync(draft, uid, gid);
      fs.chmodSync(draft, mode & 0o640);
    }
    fs.linkSync(draft, path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw unusable(`cannot write the key file ${path} (${messageOf(cause)}): run this as its owner`, cause);
  } finally {
    fs.rmSync(draft, { force: true });
  }
  const folder = fs.openSync(dirname(path), 'r');
  fs.fsyncSync(folder); // its name is on disk, too
  fs.closeSync(folder);
  return keysAt(path)[0];
}

/** Puts the next key into the place of the key. */
function adoptNextKey(path: string): void {
  try {
    fs.renameSync(nextKeyPathOf(path), path);
  } catch (error) {
    if (fs.existsSync(nextKeyPathOf(path))) throw error; // else another process that needed the key has moved it
  }
}
