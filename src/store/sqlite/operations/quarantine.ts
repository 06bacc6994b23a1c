import type { Database } from 'better-sqlite3';
import type { Quarantined, Recorded } from '../../event-store.ts';
import { record } from './record.ts';

/** An entry, as `Quarantined` names its parts. */
const ENTRY = `token, source, received_at AS receivedAt, event_time AS eventTime, digest, kind, webhook_id AS webhookId,
  site_id AS siteId, resource, body`;

export function quarantine(db: Database): (input: { entry: Quarantined; max: number }) => boolean {
  const add = db.prepare(
    `INSERT INTO quarantine
       (token, source, received_at, event_time, digest, kind, webhook_id, site_id, resource, body)
     VALUES
       (:token, :source, :receivedAt, :eventTime, :digest, :kind, :webhookId, :siteId, :resource, :body)
     ON CONFLICT (token) DO NOTHING`,
  );
  const size = db.prepare<[], number>('SELECT count(*) FROM quarantine').pluck();
  // Whoever fills the quarantine pushes out their own, not what another sender waits for.
  const makeRoom = db.prepare(
    `DELETE FROM quarantine WHERE id =
       (SELECT min(id) FROM quarantine GROUP BY source ORDER BY count(*) DESC, min(id) LIMIT 1)`,
  );
  return ({ entry, max }) => {
    if (max === 0 || add.run({ ...entry, digest: Buffer.from(entry.digest) }).changes === 0) return false;
    for (let over = (size.get() ?? 0) - max; over > 0; over--) makeRoom.run();
    return true;
  };
}

export function hasQuarantined(db: Database): () => boolean {
  const find = db.prepare('SELECT 1 FROM quarantine LIMIT 1');
  return () => find.get() !== undefined;
}

export function quarantined(db: Database): (webhookId: string | null) => Quarantined[] {
  const all = db.prepare<[{ webhookId: string | null }], Quarantined>(
    `SELECT ${ENTRY} FROM quarantine WHERE :webhookId IS NULL OR webhook_id = :webhookId ORDER BY id`,
  );
  return (webhookId) => all.all({ webhookId });
}

export function admit(db: Database): (token: string) => Recorded | undefined {
  const takeOut = db.prepare<[string], Quarantined>(
    `DELETE FROM quarantine WHERE token = ? RETURNING ${ENTRY}`,
  );
  const recordIt = record(db);
  return (token) => {
    const entry = takeOut.get(token);
    return entry && recordIt(entry);
  };
}
