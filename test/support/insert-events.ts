import type { Database } from 'better-sqlite3';

/**
 * Puts events straight into the tables of a database, as recording and handling them one by one would take hours.
 * @param select gives `seq, event_time, kind, resource, site_id, received_at, status, handled_at, last_error, body` of each;
 *   the digest is at random. Those that are not pending had one attempt.
 */
export function insertEvents(db: Database, select: string): void {
  db.exec(`
    CREATE TEMP TABLE given AS SELECT * FROM (${select});
    INSERT INTO ledger (seq, event_time, digest, kind, webhook_id, site_id, resource, received_at, body)
      SELECT seq, event_time, randomblob(32), kind, 'hook0001', site_id, resource, received_at, body FROM given;
    INSERT INTO work (event, kind, resource, event_time, attempts, interrupted, replays)
      SELECT seq, kind, resource, event_time, 0, 0, 0 FROM given WHERE status = 'pending';
    INSERT OR IGNORE INTO lanes (resource, head)
      SELECT resource, min(event_time) FROM given WHERE status = 'pending' GROUP BY resource;
    INSERT INTO results (event, status, attempts, interrupted, replays, handled_at, last_error)
      SELECT seq, status, 1, 0, 0, handled_at, last_error FROM given WHERE status <> 'pending';
    INSERT INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error)
      SELECT seq, 0, 1, received_at + 10, 12, iif(status = 'dead', 'failed', status), last_error
      FROM given WHERE status <> 'pending';
    INSERT INTO finished (resource, event_time, event, is_handled)
      SELECT resource, event_time, seq, status = 'handled' FROM given WHERE status <> 'pending'
      ORDER BY resource, event_time, seq;
    INSERT INTO kinds (kind, event) SELECT kind, seq FROM given ORDER BY kind, seq;
    INSERT INTO tallies (kind, status, events) SELECT kind, status, count(*) FROM given GROUP BY kind, status
      ON CONFLICT DO UPDATE SET events = events + excluded.events;
    INSERT INTO channels (resource, site_id, state, since, event)
      SELECT resource, site_id, substr(kind, 9), max(event_time), seq FROM given
      WHERE kind IN ('channel_active', 'channel_idle') AND resource GLOB 'channel:*' GROUP BY resource
      ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since, event = excluded.event
        WHERE excluded.since >= since;
    UPDATE cursors SET seq = (SELECT max(seq) FROM ledger) WHERE name = 'taken';
    DROP TABLE given;
  `);
}
