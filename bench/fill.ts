import { openWriter } from '../src/store/sqlite/open-sqlite.ts';
import { insertEvents } from '../test/support/insert-events.ts';

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
 * thousand given up, a few thousand pending. Written in bulk; the schema is the real one.
 */
export function fill(path: string, events: number, now: number): void {
  const db = openWriter(path);
  db.pragma('synchronous = OFF');
  const kinds = KINDS.map((kind, index) => `WHEN ${index} THEN '${kind}'`).join(' ');
  insertEvents(
    db,
    `SELECT n AS seq, at AS event_time, kind, resource, 'site' || (n % ${SITES}) AS site_id, at + 700 AS received_at, status,
      CASE WHEN status IN ('handled', 'skipped') THEN at + 900 END AS handled_at,
      CASE status WHEN 'dead' THEN 'Error: the page is not there' || char(10) || '    at handler (media.ts:12)'
        WHEN 'skipped' THEN 'not for us' END AS last_error,
      '{"event":"' || kind || '"' || CASE WHEN kind LIKE 'thumbnail%' THEN ',"thumbnail_id":"' || printf('t%07x', n) || '"'
        WHEN kind LIKE 'track%' THEN ',"track_id":"' || printf('t%07x', n) || '"' ELSE '' END ||
        ',"' || replace(resource, ':', '_id":"') || '","webhook_id":"hook0001","site_id":"site' || (n % ${SITES}) ||
        '","event_time":"' || strftime('%Y-%m-%dT%H:%M:%S+00:00', at / 1000, 'unixepoch') || '"}' AS body
    FROM (
      SELECT n, ${now} - ${YEAR_MS} + n * (${YEAR_MS} / ${events}) AS at,
        CASE WHEN n % 100 < 5 THEN iif(n % 2, 'channel_active', 'channel_idle')
          WHEN n % 100000 = 77 THEN 'made_up' ELSE CASE n % ${KINDS.length} ${kinds} END END AS kind,
        CASE WHEN n % 100 < 5 THEN 'channel:' || printf('%08x', (n * 7919) % ${CHANNELS})
          ELSE 'media:' || printf('%08x', (n * ${STRIDE}) % ${MEDIA}) END AS resource,
        CASE WHEN n > ${events} - 2000 THEN 'pending' WHEN n % 2000 = 3 THEN 'dead'
          WHEN n % 50 = 7 THEN 'skipped' ELSE 'handled' END AS status
      FROM (WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${events})
        SELECT n FROM numbers))`,
  );
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}
