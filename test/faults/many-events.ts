import Database from 'better-sqlite3';
import { openAsOther } from '../support/engine.ts';

const MEDIA = 200_000;

export interface ManyEvents {
  readonly path: string;
  readonly events: number;
  readonly secretsKey?: Buffer;
}

/** Fills a database with events that were handled long ago straight by SQL, as recording them one by one would take hours. */
export async function makeManyEvents({ path, events, secretsKey }: ManyEvents): Promise<void> {
  await (await openAsOther(`sqlite:${path}`, secretsKey)).close(); // makes the schema
  const db = new Database(path);
  db.pragma('synchronous = OFF');
  db.exec(`
    CREATE TEMP TABLE given AS
      WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${events})
      SELECT n + 1 AS seq, 'old' || (n % ${MEDIA}) AS media, 1577836800000 + n * 1000 AS at FROM numbers;
    INSERT INTO events (seq, id, kind, webhook_id, site_id, resource, event_time, received_at, last_delivery_at, body,
        status, starts, attempts, late, handled_at, ended_at)
      SELECT seq, printf('%08x-', seq) || lower(hex(randomblob(10))), 'media_available', 'hook0001', 'site0001',
        'media:' || media, at, at, at,
        json_object('event', 'media_available', 'media_id', media, 'webhook_id', 'hook0001', 'site_id', 'site0001',
          'event_time', '2020-01-01T00:00:00+00:00'),
        'handled', 1, 1, 0, at + 60000, at + 60000
      FROM given;
    INSERT INTO attempts (event, lease, replay, attempt, instance, started_at, ms, outcome)
      SELECT seq, 'inserted.' || seq, 0, 1, 'inserted', at + 10, 12, 'handled' FROM given`);
  db.close();
}
