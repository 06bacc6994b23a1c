import type { Database } from 'better-sqlite3';

/** A secret as stored. */
export interface SealedSecret {
  readonly webhookId: string;
  readonly fingerprint: Uint8Array;
  readonly sealed: Uint8Array;
  readonly createdAt: number;
  readonly retireAt: number | null;
}

/** Stores a secret; storing it again brings it back from retirement. */
export function addSecret(db: Database): (secret: Omit<SealedSecret, 'retireAt'>) => void {
  const add = db.prepare(
    `INSERT INTO secrets (webhook_id, fingerprint, sealed, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (webhook_id, fingerprint) DO UPDATE SET retire_at = NULL`,
  );
  return ({ webhookId, fingerprint, sealed, createdAt }) =>
    void add.run(webhookId, Buffer.from(fingerprint), Buffer.from(sealed), createdAt);
}

type Retirement = Pick<SealedSecret, 'webhookId' | 'fingerprint'> & { readonly retireAt: number };

export function retireSecret(db: Database): (retirement: Retirement) => boolean {
  const retire = db.prepare('UPDATE secrets SET retire_at = ? WHERE webhook_id = ? AND fingerprint = ?');
  return ({ webhookId, fingerprint, retireAt }) =>
    retire.run(retireAt, webhookId, Buffer.from(fingerprint)).changes > 0;
}

export function secrets(db: Database): (now: number) => SealedSecret[] {
  const all = db.prepare<[number], SealedSecret>(
    `SELECT webhook_id AS webhookId, fingerprint, sealed, created_at AS createdAt, retire_at AS retireAt
     FROM secrets WHERE retire_at IS NULL OR retire_at > ? ORDER BY created_at`,
  );
  return (now) => all.all(now);
}

/** Reads the value under a name, storing `value` there first if there is none. */
export function metaOrSet(db: Database): (entry: { name: string; value: Uint8Array }) => Uint8Array {
  const set = db.prepare('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const get = meta(db);
  return ({ name, value }) => {
    set.run(name, Buffer.from(value));
    return get(name) ?? value;
  };
}

export function meta(db: Database): (name: string) => Uint8Array | undefined {
  const get = db.prepare<[string], Buffer>('SELECT value FROM meta WHERE name = ?').pluck();
  return (name) => get.get(name);
}
