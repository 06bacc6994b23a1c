import type { Database } from 'better-sqlite3';

/**
 * Puts events straight into the tables of a SQLite database, as recording and handling them one by one would take hours.
 * @param select gives `seq, event_time, kind, resource, site_id, received_at, status, handled_at, last_error, body` of each;
 *   its id is at random. Those that are not pending had one attempt.
 */
export function insertEvents(db: Database, select: string): void {
  db.exec(`
    CREATE TEMP TABLE given AS SELECT * FROM (${select});
    INSERT INTO events (seq, id, kind, webhook_id, site_id, resource, event_time, received_at, last_delivery_at, body,
        status, starts, attempts, late, handled_at, ended_at, last_error)
      SELECT seq, printf('%08x-', seq) || lower(hex(randomblob(10))), kind, 'hook0001', site_id, resource, event_time, received_at,
        received_at, body, status, status <> 'pending', status <> 'pending', iif(status = 'pending', NULL, 0), handled_at,
        iif(status = 'pending', NULL, coalesce(handled_at, received_at + 22)), last_error
      FROM given;
    INSERT INTO lanes (resource, ready_at)
      SELECT resource, min(received_at) FROM given WHERE status = 'pending' GROUP BY resource
      ON CONFLICT DO UPDATE SET ready_at = min(ready_at, excluded.ready_at);
    INSERT INTO attempts (event, lease, replay, attempt, instance, started_at, ms, outcome, error)
      SELECT seq, 'inserted.' || seq, 0, 1, 'inserted', received_at + 10, 12, iif(status = 'dead', 'failed', status), last_error
      FROM given WHERE status <> 'pending';
    INSERT INTO channels (resource, site_id, state, since, event)
      SELECT given.resource, given.site_id, substr(given.kind, 9), max(given.event_time), events.id
      FROM given JOIN events USING (seq) WHERE given.kind IN ('channel_active', 'channel_idle') GROUP BY given.resource
      ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since, event = excluded.event
        WHERE excluded.since >= since;
    DROP TABLE given;
  `);
}
