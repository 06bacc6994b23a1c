import type { Database } from 'better-sqlite3';
import { openWriter } from '../src/store/sqlite/open-sqlite.ts';

export const SITES = 50;
export const MEDIA = 500_000;
export const CHANNELS = 20_000;
/** Prime to the number of media. */
const STRIDE = 104_729;
const KINDS = [
  ['media_created', 'media_available', 'conversions_complete', 'thumbnail_created', 'media_updated'],
  ['track_created', 'media_reuploaded', 'thumbnail_deleted', 'media_deleted'],
].flat();
/** The newest happened just now, the oldest a year ago. */
const YEAR_MS = 31_536_000_000;

/** A media's id, as a filled database has it. */
export function mediaId(media: number): string {
  return media.toString(16).padStart(8, '0');
}

/** The media of the n-th event: each is hit once before any is hit again, in no order that an index would like. */
export function mediaNumber(n: number): number {
  return (n * STRIDE) % MEDIA;
}

/**
 * Makes a database as some years of use leave it: nearly all events handled by one attempt each, some skipped, a few
 * thousand given up, a few thousand pending. Written in bulk, with indexes made afterwards; the schema is the real one.
 */
export function fill(path: string, events: number, now: number): void {
  const db = openWriter(path);
  db.pragma('synchronous = OFF');
  const later = withoutIndexes(db);
  const kinds = KINDS.map((kind, index) => `WHEN ${index} THEN '${kind}'`).join(' ');
  db.exec(`
    INSERT INTO events (seq, event_time, digest, kind, webhook_id, site_id, resource, received_at, last_delivery_at,
      status, attempts, handled_at, last_error, body)
    SELECT n, at, randomblob(32), kind, 'hook0001', 'site' || (n % ${SITES}), resource, at + 700, at + 700, status,
      status <> 'pending', CASE WHEN status IN ('handled', 'skipped') THEN at + 900 END,
      CASE status WHEN 'dead' THEN 'Error: the page is not there' || char(10) || '    at handler (media.ts:12)'
        WHEN 'skipped' THEN 'not for us' END,
      '{"event":"' || kind || '"' || CASE WHEN kind LIKE 'thumbnail%' THEN ',"thumbnail_id":"' || printf('t%07x', n) || '"'
        WHEN kind LIKE 'track%' THEN ',"track_id":"' || printf('t%07x', n) || '"' ELSE '' END ||
        ',"' || replace(resource, ':', '_id":"') || '","webhook_id":"hook0001","site_id":"site' || (n % ${SITES}) ||
        '","event_time":"' || strftime('%Y-%m-%dT%H:%M:%S+00:00', at / 1000, 'unixepoch') || '"}'
    FROM (
      SELECT n, ${now} - ${YEAR_MS} + n * (${YEAR_MS} / ${events}) AS at,
        CASE WHEN n % 100 < 5 THEN iif(n % 2, 'channel_active', 'channel_idle')
          WHEN n % 100000 = 77 THEN 'made_up' ELSE CASE n % ${KINDS.length} ${kinds} END END AS kind,
        CASE WHEN n % 100 < 5 THEN 'channel:' || printf('%08x', (n * 7919) % ${CHANNELS})
          ELSE 'media:' || printf('%08x', (n * ${STRIDE}) % ${MEDIA}) END AS resource,
        CASE WHEN n > ${events} - 2000 THEN 'pending' WHEN n % 2000 = 3 THEN 'dead'
          WHEN n % 50 = 7 THEN 'skipped' ELSE 'handled' END AS status
      FROM (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${events})
        SELECT n FROM numbers));
    INSERT INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error)
      SELECT seq, 0, 1, received_at + 10, 12, CASE status WHEN 'dead' THEN 'failed' ELSE status END, last_error
      FROM events WHERE status <> 'pending';
    INSERT INTO lanes (resource, head) SELECT resource, min(event_time) FROM events WHERE status = 'pending' GROUP BY resource;
    INSERT INTO tallies SELECT kind, status, count(*) FROM events GROUP BY kind, status;
    INSERT INTO channels SELECT resource, site_id, substr(kind, 9), max(event_time), seq FROM events
      WHERE kind IN ('channel_active', 'channel_idle') GROUP BY resource;
  `);
  for (const sql of later) db.exec(sql);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Takes indexes and triggers of `events` away, and gives the statements that bring them back. */
function withoutIndexes(db: Database): readonly string[] {
  const made = db
    .prepare<[], { type: string; name: string; sql: string }>(
      `SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'events' AND type IN ('index', 'trigger') AND sql IS NOT NULL`,
    )
    .all();
  for (const { type, name } of made) db.exec(`DROP ${type} ${name}`);
  return made.map(({ sql }) => sql);
}
