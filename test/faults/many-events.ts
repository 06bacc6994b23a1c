import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';

const STEP = 250_000;
const MEDIA = 200_000;

export interface ManyEvents {
  readonly path: string;
  readonly events: number;
  /** what all of them are; handled ones were handled long ago, with an attempt each */
  readonly status: 'pending' | 'handled';
}

/** Fills a database with events straight by SQL, as recording them one by one would take hours. */
export async function makeManyEvents({ path, events, status }: ManyEvents): Promise<void> {
  await (await SqliteStore.open({ path, clock: systemClock })).close(); // makes the schema
  const db = new Database(path);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -400000');
  const handledAt = status === 'handled' ? 'event_time + 60000' : 'NULL';
  const insert = db.prepare(
    `WITH RECURSIVE numbers (n) AS (SELECT :from UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :to)
     INSERT INTO events (event_time, digest, kind, webhook_id, site_id, resource, received_at, last_delivery_at,
       status, attempts, handled_at, body)
     SELECT event_time, randomblob(32), 'media_available', 'hook0001', 'site0001', 'media:' || media, event_time,
       event_time, '${status}', ${status === 'handled' ? 1 : 0}, ${handledAt},
       '{"event":"media_available","media_id":"' || media || '","webhook_id":"hook0001","site_id":"site0001",'
         || '"event_time":"2020-01-01T00:00:00+00:00"}'
     FROM (SELECT 1577836800000 + n * 1000 AS event_time, 'old' || (n % ${MEDIA}) AS media FROM numbers)`,
  );
  for (let from = 0; from < events; from += STEP) insert.run({ from, to: Math.min(events, from + STEP) });
  if (status === 'pending') {
    db.exec(
      'INSERT INTO lanes (resource, head) SELECT resource, min(event_time) FROM events GROUP BY resource',
    );
  } else {
    db.exec(`INSERT INTO attempts SELECT seq, 0, 1, received_at, 5, 'handled', NULL FROM events`);
  }
  db.close();
}
