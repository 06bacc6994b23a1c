import { systemClock } from '../src/base/clock.ts';
import { engineOf, openStore } from '../src/store/open.ts';
import { SECRETS_KEY } from './service.ts';

interface Contents {
  readonly events: number;
  /** how many media the events are of, in turn */
  readonly media: number;
  /** else nearly all are handled by one attempt each, some skipped, a few dead */
  readonly isPending: boolean;
}

const DAY_MS = 86_400_000;
const LANES = `INSERT INTO lanes (resource, ready_at)
  SELECT resource, min(received_at) FROM events WHERE status = 'pending' GROUP BY resource`;
const ATTEMPTS = `INSERT INTO attempts (event, lease, replay, attempt, instance, started_at, ms, outcome, error)
  SELECT seq, 'filled.' || seq, 0, 1, 'filled', received_at + 10, 12, CASE status WHEN 'dead' THEN 'failed' ELSE status END, last_error
  FROM events WHERE status <> 'pending'`;

/** Fills an empty database, of either engine, straight into the real tables: to record so many events takes minutes. */
export async function fill(url: string, { events, media, isPending }: Contents): Promise<void> {
  const store = await openStore({ DATABASE_URL: url, clock: systemClock, SECRETS_KEY });
  await store.close();
  await using raw = await (await engineOf(url)).openRaw(url);
  // In steps, as a statement on PostgreSQL has 30 s.
  for (let from = 0; from < events; from += 100_000) {
    const sql = eventsSql({ from, to: Math.min(events, from + 100_000), events, media, isPending });
    await raw.transact((db) => db.all(sql));
  }
  await raw.transact((db) => db.all(isPending ? LANES : ATTEMPTS));
}

/** Received within the last 30 days, or just now where they are pending. */
function eventsSql(part: Contents & { readonly from: number; readonly to: number }): string {
  const { from, to, events, media, isPending } = part;
  const now = Date.now();
  const at = isPending
    ? `${now - events} + n`
    : `${now - 30 * DAY_MS} + n * ${Math.floor((30 * DAY_MS) / events)}`;
  const status = isPending
    ? "'pending'"
    : "CASE WHEN n % 2000 = 3 THEN 'dead' WHEN n % 50 = 7 THEN 'skipped' ELSE 'handled' END";
  return `INSERT INTO events (id, kind, webhook_id, site_id, resource, event_time, received_at, last_delivery_at, body, status,
      starts, attempts, late, last_error, handled_at, ended_at)
    SELECT 'm' || (1000000 + n) || '-1000000000' || (1000000000 + n), kind, '2yW4KmiG', site, 'media:' || media, at, at + 700, at + 700,
      '{"event":"' || kind || '","media_id":"' || media || '","webhook_id":"2yW4KmiG","site_id":"' || site ||
        '","event_time":"2026-11-27T12:00:00+00:00","n":' || n || '}',
      status, CASE status WHEN 'pending' THEN 0 ELSE 1 END, CASE status WHEN 'pending' THEN 0 ELSE 1 END,
      CASE status WHEN 'pending' THEN NULL ELSE 0 END, CASE status WHEN 'dead' THEN 'Error: the page is not there' END,
      CASE WHEN status IN ('handled', 'skipped') THEN at + 900 END, CASE status WHEN 'pending' THEN NULL ELSE at + 900 END
    FROM (
      WITH RECURSIVE numbers (n) AS (SELECT CAST(${from} AS bigint) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to - 1})
      SELECT n, ${at} AS at, ${status} AS status, 1000000 + (n * 104729 % ${media}) AS media, 'site' || (n % 50) AS site,
        CASE n % 3 WHEN 0 THEN 'media_created' WHEN 1 THEN 'media_available' ELSE 'media_updated' END AS kind
      FROM numbers) AS given
    ORDER BY n`;
}

/** Milliseconds from the start of the first event to the end of the last, once the service has gone. */
export async function handlingMs(url: string): Promise<number> {
  await using raw = await (await engineOf(url)).openRaw(url);
  const sql = 'SELECT (SELECT max(ended_at) FROM events) - (SELECT min(started_at) FROM attempts) AS ms';
  const [row] = await raw.transact((db) => db.all<{ ms: number }>(sql));
  return row?.ms ?? Number.NaN;
}
