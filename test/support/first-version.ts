import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import Database from 'better-sqlite3';
import { migrations } from '../../src/store/former/migrations.ts';
import { networkOf, tokenDigest } from '../../src/store/quarantine-keys.ts';
import type { VerifiedNotification } from '../../src/store/stored.ts';

interface Stored {
  readonly webhookId: string;
  readonly secret: string;
  readonly retireAt?: number;
}

/** Seals as the first version did: for the webhook alone. */
export function firstSeal(key: Buffer, plain: string, purpose: string): Buffer {
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(purpose));
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from([1]), iv, cipher.getAuthTag(), sealed]);
}

/**
 * A database of the first version with its key file, open as that version had it: without zeroing what is deleted.
 * @param path where; the caller closes it
 */
export function firstVersion(
  path: string,
  key: Buffer,
  secrets: readonly Stored[],
): { readonly db: Database.Database; store(one: Stored): void } {
  const db = new Database(path);
  db.pragma('journal_mode = WAL');
  db.exec(migrations[0] ?? '');
  db.pragma('user_version = 1');
  const check = 'secrets key check';
  db.prepare('INSERT INTO meta VALUES (?, ?)').run(check, firstSeal(key, check, check));
  const insert = db.prepare('INSERT OR REPLACE INTO secrets VALUES (?, ?, ?, ?, ?)');
  const store = ({ webhookId, secret, retireAt }: Stored): void => {
    const fingerprint = createHmac('sha256', key).update(secret).digest();
    insert.run(webhookId, fingerprint, firstSeal(key, secret, `webhook ${webhookId}`), 1, retireAt ?? null);
  };
  for (const one of secrets) store(one);
  writeFileSync(`${path}.key`, `${key.toString('base64')}\n`, { mode: 0o600 });
  return { db, store };
}

/** Records an event as former versions did. @returns its number in the database */
export function recordFormerly(
  db: Database.Database,
  { digest, ...event }: VerifiedNotification,
  receivedAt: number,
): number {
  const { lastInsertRowid } = db
    .prepare(
      `INSERT INTO events (event_time, digest, kind, webhook_id, site_id, resource, received_at, last_delivery_at, body)
       VALUES (:eventTime, :digest, :kind, :webhookId, :siteId, :resource, :receivedAt, :receivedAt, :body)`,
    )
    .run({ ...event, digest: Buffer.from(digest), receivedAt });
  db.prepare(
    `INSERT INTO lanes (resource, head) VALUES (?, ?)
     ON CONFLICT (resource) DO UPDATE SET head = min(head, excluded.head)`,
  ).run(event.resource, event.eventTime);
  return Number(lastInsertRowid);
}

/** Brings a database of the first version to a later one, as the programs between did. */
export function bringTo(db: Database.Database, version: number): void {
  db.function('token_digest', { deterministic: true }, (token) => tokenDigest(String(token)));
  db.function('network_of', { deterministic: true }, (source) => networkOf(String(source)));
  for (const sql of migrations.slice(1, version)) db.exec(sql);
  db.pragma(`user_version = ${version}`);
}
