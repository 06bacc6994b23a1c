import type { Database } from 'better-sqlite3';
import type { Overview, Tally } from '../../event-search.ts';
import { TAKEN } from '../tables/events-view.ts';

/** The first event that is pending or running is the oldest. Replayed events do not count: they are old on purpose. */
const OLDEST = `
  SELECT received_at FROM (SELECT event, replays FROM work ORDER BY event LIMIT 1000) JOIN ledger ON seq = event
  WHERE replays = 0 ORDER BY event LIMIT 1`;
const OLDEST_UNTAKEN = `SELECT received_at FROM ledger WHERE seq > ${TAKEN} ORDER BY seq LIMIT 1`;

export function overview(db: Database): () => Overview {
  const tallies = tallyReader(db);
  const oldest = [OLDEST, OLDEST_UNTAKEN].map((sql) => db.prepare<[], number>(sql).pluck());
  const quarantine = db
    .prepare<[string], number>('SELECT entries FROM quarantine_sums WHERE what = ?')
    .pluck();
  return () => {
    const times = oldest.map((find) => find.get()).filter((time) => time !== undefined);
    return {
      tallies: tallies(),
      oldestPendingAt: times.length > 0 ? Math.min(...times) : undefined,
      quarantined: quarantine.get('all') ?? 0,
      quarantineLost: quarantine.get('lost') ?? 0,
    };
  };
}

/** The rows of running events; the tallies count them as pending. */
const RUNNING = 'lanes JOIN work ON work.event = lanes.event WHERE lanes.event IS NOT NULL';

/** Counts of events by kind and status: those that are kept, with what runs, and what is not in them yet, which is little. */
export function tallyReader(db: Database): () => Tally[] {
  const all = db.prepare<[], Tally>(
    `SELECT kind, status, sum(events) AS events FROM (
       SELECT kind, status, events FROM tallies
       UNION ALL SELECT kind, 'pending', 1 FROM ledger WHERE seq > ${TAKEN}
       UNION ALL SELECT work.kind, 'running', 1 FROM ${RUNNING}
       UNION ALL SELECT work.kind, 'pending', -1 FROM ${RUNNING})
     GROUP BY kind, status HAVING sum(events) > 0 ORDER BY kind, status`,
  );
  return () => all.all();
}
