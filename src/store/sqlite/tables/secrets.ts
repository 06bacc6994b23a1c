import type { Database } from 'better-sqlite3';
import type { SealedSecret, SecretTables } from '../../driver.ts';
import { KEY_CHECK } from '../../seal.ts';

export function secretTables(db: Database): SecretTables {
  const all = db.prepare<[], SealedSecret>(
    `SELECT webhook_id AS webhookId, fingerprint, sealed, created_at AS createdAt, retire_at AS retireAt
     FROM secrets ORDER BY created_at`,
  );
  const insert = db.prepare(
    `INSERT INTO secrets (webhook_id, fingerprint, sealed, created_at, retire_at)
     VALUES (:webhookId, :fingerprint, :sealed, :createdAt, :retireAt)`,
  );
  const clear = db.prepare('DELETE FROM secrets');
  const own = db.prepare<[], string>('SELECT webhook_id FROM own_secrets ORDER BY webhook_id').pluck();
  const keyCheck = db.prepare<[string], Buffer>('SELECT value FROM meta WHERE name = ?').pluck();
  const stamp = db
    .prepare<[string], string>(
      `SELECT (SELECT seq FROM cursors WHERE name = 'secrets') || ' ' || ifnull(hex((SELECT value FROM meta WHERE name = ?)), '')`,
    )
    .pluck();
  const setKeyCheck = db.prepare(
    'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const add = ({ fingerprint, sealed, ...row }: SealedSecret) =>
    void insert.run({ ...row, fingerprint: bytes(fingerprint), sealed: bytes(sealed) });
  return {
    secrets: () => all.all(),
    addSecret: (row) => zeroing(db, () => add(row)),
    // A freed page is zeroed as a whole; a changed row leaves copies behind, in parts of pages from which other rows were moved.
    replaceSecrets: (rows) =>
      zeroing(db, () => {
        clear.run();
        rows.forEach(add);
      }),
    ownSecrets: () => own.all(),
    keyCheck: () => keyCheck.get(KEY_CHECK),
    secretsStamp: () => String(stamp.get(KEY_CHECK)),
    setKeyCheck: (check) => zeroing(db, () => void setKeyCheck.run(KEY_CHECK, bytes(check))),
  };
}

/** The value as bytes; anything else is left as it is. */
function bytes(value: Uint8Array): Uint8Array {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

/**
 * Zeroes freed pages as a whole too, while it runs. It is not always ON, because that makes an ack 10 % slower and the
 * handling of its event 7 %. FAST, which zeroes freed content within a page, costs 2 % and nothing.
 */
function zeroing(db: Database, write: () => void): void {
  db.pragma('secure_delete = ON');
  try {
    write();
  } finally {
    db.pragma('secure_delete = FAST');
  }
}
