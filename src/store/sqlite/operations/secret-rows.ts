import type { Database } from 'better-sqlite3';
import { KEY_CHECK, type SealedRow, Sealer } from '../../seal.ts';
import { meta } from './meta.ts';

/** A secret as stored. */
export interface SealedSecret extends SealedRow {
  readonly createdAt: number;
}

/** The key check that was sealed when the key came into use: a process with another check has another key. */
interface Keyed {
  readonly keyCheck: Uint8Array;
}

/** Whether a key check is still that of the database. */
function keyGuard(db: Database): (keyCheck: Uint8Array) => boolean {
  const current = meta(db);
  return (keyCheck) => Buffer.from(keyCheck).equals(current(KEY_CHECK) ?? Buffer.alloc(0));
}

/** The table of secrets, all of it: it is small. */
function tableOf(db: Database) {
  const all = db.prepare<[], SealedSecret>(
    `SELECT webhook_id AS webhookId, fingerprint, sealed, created_at AS createdAt, retire_at AS retireAt
     FROM secrets ORDER BY created_at`,
  );
  const insert = db.prepare(
    `INSERT INTO secrets (webhook_id, fingerprint, sealed, created_at, retire_at)
     VALUES (:webhookId, :fingerprint, :sealed, :createdAt, :retireAt)`,
  );
  const clear = db.prepare('DELETE FROM secrets');
  const add = ({ fingerprint, sealed, ...row }: SealedSecret) =>
    void insert.run({ ...row, fingerprint: bytes(fingerprint), sealed: bytes(sealed) });
  return {
    rows: () => all.all(),
    add,
    /**
     * Rewrites the whole table, so that nothing of its former content is left. A freed page is zeroed as a whole; a
     * changed row leaves copies behind, in parts of pages from which other rows were moved.
     */
    replace(rows: readonly SealedSecret[]): void {
      zeroing(db, () => {
        clear.run();
        for (const row of rows) add(row);
      });
    },
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

function isRow(one: Pick<SealedRow, 'webhookId' | 'fingerprint'>): (other: SealedSecret) => boolean {
  const fingerprint = Buffer.from(one.fingerprint);
  return (other) => other.webhookId === one.webhookId && fingerprint.equals(bytes(other.fingerprint));
}

/** Stores a secret, or ends its retirement. False, and nothing is changed, if the database has another key now. */
export function addSecret(db: Database): (secret: SealedSecret & Keyed) => boolean {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  return ({ keyCheck, ...secret }) => {
    if (!isCurrent(keyCheck)) return false;
    const rows = table.rows();
    const known = rows.find(isRow(secret));
    if (!known) zeroing(db, () => table.add(secret));
    else table.replace(rows.map((row) => (row === known ? { ...secret, createdAt: row.createdAt } : row)));
    return true;
  };
}

/** Retires a secret; false if there is none. Undefined, and nothing is changed, if the database has another key now. */
export function retireSecret(db: Database): (retired: SealedRow & Keyed) => boolean | undefined {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  return ({ keyCheck, ...retired }) => {
    if (!isCurrent(keyCheck)) return undefined;
    const rows = table.rows();
    const known = rows.find(isRow(retired));
    if (known) table.replace(rows.map((row) => (row === known ? { ...row, ...retired } : row)));
    return known !== undefined;
  };
}

/** All secrets, retired ones too, oldest first; undefined if the database has another key now. */
export function secrets(db: Database): (input: Keyed) => SealedSecret[] | undefined {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  return ({ keyCheck }) => (isCurrent(keyCheck) ? table.rows() : undefined);
}

/** The webhooks that ever had a row, in the order of their names. */
export function webhooksWithOwnSecret(db: Database): () => string[] {
  const all = db.prepare<[], string>('SELECT webhook_id FROM own_secrets ORDER BY webhook_id').pluck();
  return () => all.all();
}

/** Removes rows that did not change since they were read; undefined, and none removed, if the key is another now. */
export function dropSecrets(
  db: Database,
): (input: Keyed & { rows: readonly SealedRow[] }) => number | undefined {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  return ({ keyCheck, rows }) => {
    if (!isCurrent(keyCheck)) return undefined;
    const isDropped = (row: SealedSecret) =>
      rows.some((one) => isRow(one)(row) && Buffer.from(one.sealed).equals(bytes(row.sealed)));
    const before = table.rows();
    const kept = before.filter((row) => !isDropped(row));
    table.replace(kept);
    return before.length - kept.length;
  };
}

interface Rekeying extends Keyed {
  /** 32 bytes each */
  readonly oldKey: Uint8Array;
  readonly newKey: Uint8Array;
}

/**
 * Seals all secrets under another key, retired ones too, in one commit. @returns how many; undefined if the database has
 * another key now
 * @throws Error if a row does not open; then nothing is changed
 */
export function rekey(db: Database): (rekeying: Rekeying) => number | undefined {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  const setCheck = checkSetter(db);
  return ({ oldKey, newKey, keyCheck }) => {
    if (!isCurrent(keyCheck)) return undefined;
    const [before, after] = [new Sealer(Buffer.from(oldKey)), new Sealer(Buffer.from(newKey))];
    const rows = table.rows().map((row) => {
      const secret = before.openRow(row);
      if (secret === undefined) throw new Error(`a secret of webhook ${row.webhookId} does not open`);
      return { ...row, ...after.sealRow(secret, row.webhookId, row.retireAt) };
    });
    table.replace(rows);
    setCheck(after.keyCheck());
    return rows.length;
  };
}

/**
 * Seals the secrets of the first version for their rows, in one commit. A secret that does not open stays as it is, and
 * does not open later either. False, and nothing is changed, if the database has another key check now.
 */
export function bindToRows(db: Database): (input: Keyed & { key: Uint8Array }) => boolean {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  const setCheck = checkSetter(db);
  return ({ key, keyCheck }) => {
    if (!isCurrent(keyCheck)) return false;
    const sealer = new Sealer(Buffer.from(key));
    const rows = table.rows().map((row) => {
      const secret = sealer.openFirstRow(row);
      return secret === undefined ? row : { ...row, ...sealer.sealRow(secret, row.webhookId, row.retireAt) };
    });
    table.replace(rows);
    setCheck(sealer.keyCheck());
    return true;
  };
}

function checkSetter(db: Database): (check: Buffer) => void {
  const set = db.prepare('UPDATE meta SET value = ? WHERE name = ?');
  return (check) => zeroing(db, () => void set.run(check, KEY_CHECK));
}
