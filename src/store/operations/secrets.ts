import { type Db, type Dialect, insert } from '../dialect.ts';
import { isKeyOf, keyCheckOf, openRow, type SealedRow, sealRow } from '../seal.ts';
import type { WebhookSecret } from '../stored.ts';

export interface Keyed {
  /** 32 bytes. Where the database has another key, nothing is done and the result is undefined */
  readonly key: Uint8Array;
}

const KEY_CHECK = "SELECT value FROM meta WHERE name = 'key_check'";
const SECRETS = `SELECT webhook_id, fingerprint, sealed, retire_at, created_at FROM secrets
  ORDER BY created_at, webhook_id, fingerprint`;

/** By this the key of the database is recognised; undefined before the first one. */
export const keyCheck = async (db: Db, sql = KEY_CHECK) => (await db.all<{ value: string }>(sql))[0]?.value;

/** All secrets that open in their rows, oldest first. */
export async function secretsOf(
  db: Db,
  { key }: Keyed,
  sql = KEY_CHECK,
): Promise<WebhookSecret[] | undefined> {
  if (!isKeyOf(key, await keyCheck(db, sql))) return undefined;
  const rows = await db.all<SealedRow>(SECRETS);
  return rows.flatMap((row) => {
    const secret = openRow(key, row);
    return secret === undefined ? [] : [{ ...row, secret }];
  });
}

export function secretOperations(d: Dialect) {
  // What seals waits for another process that changes the key, and reads afterwards.
  const lockKeyCheck = `${KEY_CHECK} ${d.hasLocks ? 'FOR UPDATE' : ''}`;
  const addKeyCheck = `INSERT INTO meta (name, value) VALUES ('key_check', $value) ON CONFLICT (name) DO NOTHING`;
  const setKeyCheck = "UPDATE meta SET value = $value WHERE name = 'key_check'";
  const columns = 'webhook_id text, fingerprint text, sealed text, retire_at bigint, created_at bigint';
  const again = `ON CONFLICT (webhook_id, fingerprint)
    DO UPDATE SET sealed = excluded.sealed, retire_at = excluded.retire_at`;
  const put = insert(d, 'secrets', columns, again);
  const isThere = 'SELECT 1 FROM secrets WHERE webhook_id = $webhook_id AND fingerprint = $fingerprint';

  return {
    /** Makes a key that of the database, unless it has one. */
    async addKey(db: Db, { key }: Keyed): Promise<void> {
      await db.all(addKeyCheck, { value: keyCheckOf(key) });
    },

    /** Stores a secret, or changes when it retires. @returns false if it must be there and is not */
    async putSecret(db: Db, { key, mustExist, ...given }: WebhookSecret & Keyed & { mustExist: boolean }) {
      if (!isKeyOf(key, await keyCheck(db, lockKeyCheck))) return undefined;
      const { webhookId, secret, createdAt, retireAt } = given;
      const row = sealRow(key, secret, { webhookId, createdAt, retireAt });
      if (mustExist && (await db.all(isThere, row)).length === 0) return false;
      await db.each(put, [row]);
      return true;
    },

    /** Seals all secrets under another key. @returns how many */
    async rekey(db: Db, { key, next }: Keyed & { readonly next: Uint8Array }) {
      const secrets = await secretsOf(db, { key }, lockKeyCheck);
      if (!secrets) return undefined;
      const rows = secrets.map(({ secret, ...row }) => sealRow(next, secret, row));
      await db.all('DELETE FROM secrets');
      await db.each(put, rows);
      await db.all(setKeyCheck, { value: keyCheckOf(next) });
      return rows.length;
    },
  };
}
