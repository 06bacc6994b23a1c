import type { Db, Dialect } from '../dialect.ts';

/** A secret as it is stored. The seal covers the other members too, but for `createdAt`. Texts in base64. */
export interface SealedRow {
  readonly webhookId: string;
  readonly fingerprint: string;
  readonly sealed: string;
  readonly retireAt: number | undefined;
  readonly createdAt: number;
}

export interface Putting {
  readonly row: SealedRow;
  readonly check: string;
  readonly mustExist: boolean;
}

export interface Replacing {
  readonly rows: readonly SealedRow[];
  /** what was read */
  readonly seals: readonly string[];
  readonly check: string;
  readonly next: string;
}

export function secretOperations(d: Dialect) {
  const keyCheck = `SELECT value FROM meta WHERE name = 'key_check' ${d.hasLocks ? 'FOR UPDATE' : ''}`;
  const addKeyCheck = `INSERT INTO meta (name, value) VALUES ('key_check', $value) ON CONFLICT (name) DO NOTHING`;
  const setKeyCheck = "UPDATE meta SET value = $value WHERE name = 'key_check'";
  const columns = 'webhook_id text, fingerprint text, sealed text, retire_at bigint, created_at bigint';
  const again = `ON CONFLICT (webhook_id, fingerprint)
    DO UPDATE SET sealed = excluded.sealed, retire_at = excluded.retire_at`;
  const put = d.insert('secrets', columns, again);
  const isThere = 'SELECT 1 FROM secrets WHERE webhook_id = $webhook_id AND fingerprint = $fingerprint';
  const isCurrent = async (db: Db, check: string) =>
    (await db.all<{ value: string }>(keyCheck))[0]?.value === check;

  return {
    /** The key check of the database, which is the given one if it had none. */
    async keyCheckOr(db: Db, { check }: { readonly check: string }): Promise<string> {
      await db.all(addKeyCheck, { value: check }); // waits for another process that adds one just now
      const [known] = await db.all<{ value: string }>(keyCheck);
      return known?.value ?? check;
    },

    /** Stores a secret, or ends its retirement, if the key check is the one that the caller has seen. @returns whether it is there */
    async putSecret(db: Db, { row, check, mustExist }: Putting): Promise<boolean | 'other key'> {
      if (!(await isCurrent(db, check))) return 'other key';
      if (mustExist && (await db.all(isThere, row)).length === 0) return false;
      await db.each(put, [row]);
      return true;
    },

    /** Writes all secrets again, as they are sealed under another key. @returns false if there are others than those that were read */
    async replaceSecrets(db: Db, { rows, seals, check, next }: Replacing): Promise<boolean | 'other key'> {
      if (!(await isCurrent(db, check))) return 'other key';
      const there = await db.all<{ sealed: string }>('SELECT sealed FROM secrets');
      if (there.length !== seals.length || there.some(({ sealed }) => !seals.includes(sealed))) return false;
      await db.all('DELETE FROM secrets');
      await db.each(put, rows);
      await db.all(setKeyCheck, { value: next });
      return true;
    },
  };
}
