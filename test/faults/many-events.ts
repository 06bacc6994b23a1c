import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';

const STEP = 250_000;
const MEDIA = 200_000;

export interface ManyEvents {
  readonly path: string;
  readonly events: number;
  /** what all of them are; handled ones were handled long ago, with an attempt each */
  readonly status: 'pending' | 'handled';
  readonly secretsKey?: Buffer;
}

/** Fills a database with events straight by SQL, as recording them one by one would take hours. */
export async function makeManyEvents({ path, events, status, secretsKey }: ManyEvents): Promise<void> {
  await (
    await openStore({ DATABASE_URL: `sqlite:${path}`, clock: systemClock, SECRETS_KEY: secretsKey })
  ).close(); // makes the schema
  const db = new Database(path);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -400000');
  const isHandled = Number(status === 'handled');
  for (let from = 0; from < events; from += STEP) {
    db.exec(`
      CREATE TEMP TABLE given AS
        WITH RECURSIVE numbers (n) AS
          (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${Math.min(events, from + STEP)})
        SELECT n + 1 AS seq, 'old' || (n % ${MEDIA}) AS media, 1577836800000 + n * 1000 AS at,
          iif(${isHandled}, 1577836860000 + n * 1000, NULL) AS handled_at FROM numbers;
      INSERT INTO events (seq, id, kind, webhook_id, site_id, resource, event_time, received_at, last_delivery_at, body,
          status, starts, attempts, late, handled_at, ended_at)
        SELECT seq, printf('%08x-', seq) || lower(hex(randomblob(10))), 'media_available', 'hook0001', 'site0001',
          'media:' || media, at, at, at,
          json_object('event', 'media_available', 'media_id', media, 'webhook_id', 'hook0001', 'site_id', 'site0001',
            'event_time', '2020-01-01T00:00:00+00:00'),
          '${status}', ${isHandled}, ${isHandled}, iif(${isHandled}, 0, NULL), handled_at, handled_at
        FROM given;
      INSERT INTO lanes (resource, ready_at)
        SELECT 'media:' || media, min(at) FROM given WHERE NOT ${isHandled} GROUP BY media
        ON CONFLICT DO UPDATE SET ready_at = min(ready_at, excluded.ready_at);
      INSERT INTO attempts (event, lease, replay, attempt, instance, started_at, ms, outcome)
        SELECT seq, 'inserted.' || seq, 0, 1, 'inserted', at + 10, 12, 'handled' FROM given WHERE ${isHandled};
      DROP TABLE given;`);
  }
  db.close();
}
