import type { Database } from 'better-sqlite3';
import { KEY_CHECK, type SealedRow, Sealer } from '../../seal.ts';
import { meta } from './meta.ts';

/** A secret as stored. */
export interface SealedSecret extends SealedRow {
  readonly createdAt: number;
}

/** What was sealed when the key came into use: a process that holds another one holds another key. */
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
     * Writes all of it again, so that nothing of what it held is left: a page that is freed is zeroed whole, where a row
     * that is changed leaves copies behind, in parts of pages that other rows were moved out of.
     */
    replace(rows: readonly SealedSecret[]): void {
      zeroing(db, () => {
        clear.run();
        for (const row of rows) add(row);
      });
    },
  };
}

/** As it is, where somebody has put something else than bytes there. */
function bytes(value: Uint8Array): Uint8Array {
  return value instanceof Uint8Array ? Buffer.from(value) : value;
}

/**
 * Zeroes whole pages too that are freed meanwhile. Not always ON: that costs an ack 10 % and what handles its event 7 %,
 * where FAST, which zeroes what is freed within a page, costs 2 % and nothing.
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

/** Stores a secret; storing it again brings it back from retirement. False, and nothing done, if the key is another now. */
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

/** Tells whether there is such a secret; undefined, and nothing done, if the key is another now. */
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

/** All of them, retired ones too, oldest first; undefined if the key is another now. */
export function secrets(db: Database): (input: Keyed) => SealedSecret[] | undefined {
  const isCurrent = keyGuard(db);
  const table = tableOf(db);
  return ({ keyCheck }) => (isCurrent(keyCheck) ? table.rows() : undefined);
}

/** Removes rows that are still as they were read; undefined, and nothing done, if the key is another now. */
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
 * Seals everything again under another key, retired secrets too, in the one commit; tells how many. Undefined if the
 * key is another now.
 * @throws Error if a row does not open, and then nothing is changed
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
 * Seals what the first version sealed for its row, in the one commit. What does not open is left as it is, and opens no
 * more from then on. False, and nothing done, if the key check is another now.
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
