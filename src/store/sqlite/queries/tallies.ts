import type { Database } from 'better-sqlite3';
import type { Overview, Tally } from '../../event-search.ts';

/** The first event in `events_status` is the oldest. Replayed events do not count: they are old on purpose. */
const OLDEST = `
  SELECT received_at FROM
    (SELECT received_at, replays FROM events INDEXED BY events_status
     WHERE status = ? AND status <> 'handled' ORDER BY seq LIMIT 1000)
  WHERE replays = 0 LIMIT 1`;

export function overview(db: Database): () => Overview {
  const tallies = tallyReader(db);
  const oldest = db.prepare<['pending' | 'running'], number>(OLDEST).pluck();
  const quarantine = db
    .prepare<[string], number>('SELECT entries FROM quarantine_sums WHERE what = ?')
    .pluck();
  return () => {
    const times = [oldest.get('pending'), oldest.get('running')].filter((time) => time !== undefined);
    return {
      tallies: tallies(),
      oldestPendingAt: times.length > 0 ? Math.min(...times) : undefined,
      quarantined: quarantine.get('all') ?? 0,
      quarantineLost: quarantine.get('lost') ?? 0,
    };
  };
}

export function tallyReader(db: Database): () => Tally[] {
  const all = db.prepare<[], Tally>(
    'SELECT kind, status, events FROM tallies WHERE events > 0 ORDER BY kind, status',
  );
  return () => all.all();
}
