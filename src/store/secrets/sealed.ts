import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { type Db, type Dialect, insert } from '../dialect.ts';
import type { WebhookSecret } from '../stored.ts';

/** A key of 32 bytes. Where the database has another one, nothing is done and the result is undefined. */
export type Keyed = { readonly key: Uint8Array };

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
  // What seals waits for another process that changes the key, and reads the key afterwards.
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
interface SealedRow extends Omit<WebhookSecret, 'secret'> {
  readonly fingerprint: string;
  readonly sealed: string;
}

/** A sealed secret opens only in its own row, and only while its retirement is unchanged. */
const purposeOf = ({ webhookId, fingerprint, retireAt }: Omit<SealedRow, 'sealed'>) =>
  JSON.stringify(['webhook secret', webhookId, fingerprint, retireAt ?? null]);

/** The same for equal texts, and only for them; it reveals neither text nor key. */
const macOf = (key: Uint8Array, text: string) => createHmac('sha256', key).update(text).digest('hex');

/** A text by which a key is recognised. */
export const keyCheckOf = (key: Uint8Array) => macOf(key, 'secrets key check');

/** Seals a secret for its row with AES-256-GCM, so that a copy of the database without the key reveals nothing. @param key 32 bytes */
function sealRow(key: Uint8Array, { secret, ...row }: WebhookSecret): SealedRow {
  const fingerprint = macOf(key, secret);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(
    Buffer.from(purposeOf({ ...row, fingerprint })),
  );
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
