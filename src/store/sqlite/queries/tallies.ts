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

/** Counts of events by kind and status: those that are kept, and what is not in them yet, which is little. */
export function tallyReader(db: Database): () => Tally[] {
  const kept = db.prepare<[], Tally>('SELECT kind, status, events FROM tallies');
  const untaken = db.prepare<[], Tally>(
    `SELECT kind, 'pending' AS status, count(*) AS events FROM ledger WHERE seq > ${TAKEN} GROUP BY kind`,
  );
  const running = db.prepare<[], Tally>(
    `SELECT kind, 'running' AS status, count(*) AS events FROM lanes JOIN work ON work.event = lanes.event
     WHERE lanes.event IS NOT NULL GROUP BY kind`,
  );
  return () => {
    const runs = running.all();
    const noLongerPending = runs.map((tally) => ({
      ...tally,
      status: 'pending' as const,
      events: -tally.events,
    }));
    const sums = new Map<string, Tally>();
    for (const tally of [...kept.all(), ...untaken.all(), ...runs, ...noLongerPending]) {
      const key = JSON.stringify([tally.kind, tally.status]);
      sums.set(key, { ...tally, events: tally.events + (sums.get(key)?.events ?? 0) });
    }
    return [...sums.entries()]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([, tally]) => tally)
      .filter(({ events }) => events > 0);
  };
}
