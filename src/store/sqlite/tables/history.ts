import type { Database } from 'better-sqlite3';
import type { ChannelRow, HistoryTables } from '../../driver.ts';
import { flag } from './rows.ts';

export function historyTables(db: Database): HistoryTables {
  // No two starts have the same number, unless a program of a former version worked on the database: it gave the number of
  // a released start out again.
  const attempt = db.prepare(
    `INSERT OR REPLACE INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error, instance)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const result = db.prepare(
    `INSERT INTO results (event, status, attempts, interrupted, replays, late, handled_at, last_error)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const finish = db.prepare(
    'INSERT INTO finished (resource, event_time, event, is_handled) VALUES (?, ?, ?, ?)',
  );
  const remove = db.prepare('DELETE FROM results WHERE event = ?');
  const unfinish = db.prepare('DELETE FROM finished WHERE resource = ? AND event_time = ? AND event = ?');
  const newer = db
    .prepare<[string, number], 1>(
      'SELECT 1 FROM finished WHERE resource = ? AND event_time > ? AND is_handled = 1 LIMIT 1',
    )
    .pluck();
  const kind = db.prepare('INSERT OR IGNORE INTO kinds (kind, event) VALUES (?, ?)');
  const tally = db.prepare(
    `INSERT INTO tallies (kind, status, events) VALUES (:kind, :status, :by)
     ON CONFLICT (kind, status) DO UPDATE SET events = events + excluded.events`,
  );
  const channel = db.prepare<[string], ChannelRow>(
    `SELECT channels.resource, channels.site_id AS siteId, state, since, event, received_at AS receivedAt
     FROM channels JOIN ledger ON ledger.seq = channels.event WHERE channels.resource = ?`,
  );
  const setChannel = db.prepare(
    `INSERT OR REPLACE INTO channels (resource, site_id, state, since, event)
     VALUES (:resource, :siteId, :state, :since, :event)`,
  );
  return {
    addAttempts(attempts) {
      for (const { event, replay, attempt: number, startedAt, durationMs, ...end } of attempts) {
        const { outcome, error = null, instance = null } = end;
        attempt.run(event, replay, number, startedAt, durationMs, outcome, error, instance);
      }
    },
    addResults(results) {
      for (const row of results) {
        const { event, status, resource, eventTime, attempts, interrupted, replays } = row;
        const rest = [flag(row.late), row.handledAt ?? null, row.lastError ?? null];
        result.run(event, status, attempts, interrupted, replays, ...rest);
        finish.run(resource, eventTime, event, status === 'handled' ? 1 : 0);
      }
    },
    removeResults(events) {
      for (const { event, resource, eventTime } of events) {
        remove.run(event);
        unfinish.run(resource, eventTime, event);
      }
    },
    newerHandled: (events) =>
      events.map(({ resource, eventTime }) => newer.get(resource, eventTime) !== undefined),
    addKinds: (rows) => rows.forEach((row) => void kind.run(row.kind, row.event)),
    addTallies: (changes) => changes.forEach((change) => void tally.run(change)),
    channels: (resources) => resources.map((resource) => channel.get(resource)),
    setChannels: (channels) =>
      channels.forEach(({ resource, siteId, state, since, event }) => {
        setChannel.run({ resource, siteId, state, since, event });
      }),
  };
}
