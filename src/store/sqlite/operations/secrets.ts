import type { Database } from 'better-sqlite3';
import { KEY_CHECK, purposeOf, Sealer } from '../../seal.ts';
import { meta } from './meta.ts';

/** A secret as stored. */
export interface SealedSecret {
  readonly webhookId: string;
  readonly fingerprint: Uint8Array;
  readonly sealed: Uint8Array;
  readonly createdAt: number;
  readonly retireAt: number | null;
}

/** What was sealed when the key came into use: whoever holds another one holds another key. */
interface Keyed {
  readonly keyCheck: Uint8Array;
}

/** Whether a key check is still that of the database. */
function keyGuard(db: Database): (keyCheck: Uint8Array) => boolean {
  const current = meta(db);
  return (keyCheck) => Buffer.from(keyCheck).equals(current(KEY_CHECK) ?? Buffer.alloc(0));
}

/** Stores a secret; storing it again brings it back from retirement. False, and nothing done, if the key is another now. */
export function addSecret(db: Database): (secret: Omit<SealedSecret, 'retireAt'> & Keyed) => boolean {
  const isCurrent = keyGuard(db);
  const add = db.prepare(
    `INSERT INTO secrets (webhook_id, fingerprint, sealed, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (webhook_id, fingerprint) DO UPDATE SET retire_at = NULL`,
  );
  return ({ webhookId, fingerprint, sealed, createdAt, keyCheck }) => {
    if (!isCurrent(keyCheck)) return false;
    add.run(webhookId, Buffer.from(fingerprint), Buffer.from(sealed), createdAt);
    return true;
  };
}

type Retirement = Pick<SealedSecret, 'webhookId' | 'fingerprint'> & Keyed & { readonly retireAt: number };

/** Tells whether there is such a secret; undefined, and nothing done, if the key is another now. */
export function retireSecret(db: Database): (retirement: Retirement) => boolean | undefined {
  const isCurrent = keyGuard(db);
  const retire = db.prepare('UPDATE secrets SET retire_at = ? WHERE webhook_id = ? AND fingerprint = ?');
  return ({ webhookId, fingerprint, retireAt, keyCheck }) => {
    if (!isCurrent(keyCheck)) return undefined;
    return retire.run(retireAt, webhookId, Buffer.from(fingerprint)).changes > 0;
  };
}

/** What is not retired, oldest first; undefined if the key is another now. */
export function secrets(db: Database): (input: Keyed & { now: number }) => SealedSecret[] | undefined {
  const isCurrent = keyGuard(db);
  const all = db.prepare<[number], SealedSecret>(
    `SELECT webhook_id AS webhookId, fingerprint, sealed, created_at AS createdAt, retire_at AS retireAt
     FROM secrets WHERE retire_at IS NULL OR retire_at > ? ORDER BY created_at`,
  );
  return ({ keyCheck, now }) => (isCurrent(keyCheck) ? all.all(now) : undefined);
}

interface Rekeying extends Keyed {
  /** 32 bytes each */
  readonly oldKey: Uint8Array;
  readonly newKey: Uint8Array;
}

/** Seals everything anew, retired secrets too, in the one commit; tells how many. Undefined if the key is another now. */
export function rekey(db: Database): (rekeying: Rekeying) => number | undefined {
  const isCurrent = keyGuard(db);
  const all = db.prepare<[], { webhook_id: string; fingerprint: Buffer; sealed: Buffer }>(
    'SELECT * FROM secrets',
  );
  const change = db.prepare(
    'UPDATE secrets SET fingerprint = ?, sealed = ? WHERE webhook_id = ? AND fingerprint = ?',
  );
  const setCheck = db.prepare('UPDATE meta SET value = ? WHERE name = ?');
  return ({ oldKey, newKey, keyCheck }) => {
    if (!isCurrent(keyCheck)) return undefined;
    db.pragma('secure_delete = ON'); // what the old key opens is not to lie about in free pages
    const [before, after] = [new Sealer(Buffer.from(oldKey)), new Sealer(Buffer.from(newKey))];
    const rows = all.all();
    for (const { webhook_id, fingerprint, sealed } of rows) {
      const secret = before.open(sealed, purposeOf(webhook_id));
      const anew = after.seal(secret, purposeOf(webhook_id));
      change.run(after.fingerprint(secret), anew, webhook_id, fingerprint);
    }
    setCheck.run(after.seal(KEY_CHECK, KEY_CHECK), KEY_CHECK);
    return rows.length;
  };
}
