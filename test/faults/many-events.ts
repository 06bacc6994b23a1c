import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { insertEvents } from '../support/insert-events.ts';

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
  await (await openStore({ url: `sqlite:${path}`, clock: systemClock, secretsKey })).close(); // makes the schema
  const db = new Database(path);
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -400000');
  const handledAt = status === 'handled' ? 'event_time + 60000' : 'NULL';
  for (let from = 0; from < events; from += STEP) {
    insertEvents(
      db,
      `SELECT n + 1 AS seq, event_time, 'media_available' AS kind, 'media:' || media AS resource, 'site0001' AS site_id,
         event_time AS received_at, '${status}' AS status, ${handledAt} AS handled_at, NULL AS last_error,
         '{"event":"media_available","media_id":"' || media || '","webhook_id":"hook0001","site_id":"site0001",'
           || '"event_time":"2020-01-01T00:00:00+00:00"}' AS body
       FROM (SELECT n, 1577836800000 + n * 1000 AS event_time, 'old' || (n % ${MEDIA}) AS media FROM (
         WITH RECURSIVE numbers (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ${Math.min(events, from + STEP)})
         SELECT n FROM numbers))`,
    );
  }
  db.close();
}
