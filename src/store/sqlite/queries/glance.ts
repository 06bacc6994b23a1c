import type { Database } from 'better-sqlite3';
import type { Counted } from '../../driver-store.ts';
import { eventId } from '../../event-id.ts';
import type {
  Channel,
  ChannelPage,
  ChannelState,
  Channels,
  DoneStep,
  Tally,
  Timeline,
} from '../../event-search.ts';
import { fewKinds } from '../../few-kinds.ts';
import { type EventRow, placeFinder, TAKEN, toEvent } from '../tables/rows.ts';

/** The first event that is pending or running is the oldest. Replayed events do not count: they are old on purpose. */
const OLDEST_TAKEN = `
  SELECT received_at FROM (SELECT event, replays FROM work ORDER BY event LIMIT 1000) JOIN ledger ON seq = event
  WHERE replays = 0 ORDER BY event LIMIT 1`;
const OLDEST_UNTAKEN = `SELECT received_at FROM ledger WHERE seq > ${TAKEN} ORDER BY seq LIMIT 1`;
const UNTAKEN = `SELECT count(*) AS events, min(received_at) AS oldestAt FROM ledger WHERE seq > ${TAKEN}`;

export function overview(db: Database): () => Counted {
  const tallies = tallyReader(db);
  const oldest = [OLDEST_TAKEN, OLDEST_UNTAKEN].map((sql) => db.prepare<[], number>(sql).pluck());
  const quarantine = db
    .prepare<[string], number>('SELECT entries FROM quarantine_sums WHERE what = ?')
    .pluck();
  const untaken = db.prepare<[], { events: number; oldestAt: number | null }>(UNTAKEN);
  return () => {
    const { events = 0, oldestAt } = untaken.get() ?? {};
    const times = oldest.map((find) => find.get()).filter((time) => time !== undefined);
    return {
      tallies: fewKinds(tallies()),
      oldestPendingAt: times.length > 0 ? Math.min(...times) : undefined,
      quarantined: quarantine.get('all') ?? 0,
      quarantineLost: quarantine.get('lost') ?? 0,
      untaken: { events, oldestAt: oldestAt ?? undefined },
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

/**
 * The numbers of a resource's events in the order of their event times and then of arrival, behind one of them, as `:resource`,
 * `:time`, `:seq` and `:reach` say: what has ended, what is ready or runs, what waits, and what is in the ledger only. One index over
 * all events would cost every ack a write to a page that is not in memory.
 */
export function resourceOrder(order: 'ASC' | 'DESC'): string {
  const from = order === 'ASC' ? '>' : '<';
  const arm = (table: string, event: string, where: string) => `
    SELECT ${event} AS seq, event_time FROM ${table}
    WHERE resource = :resource AND ${where} AND (event_time, ${event}) ${from} (:time, :seq)`;
  // Each arm has this order of itself, or is short: SQLite merges them, and reads no more of them than it needs.
  return `SELECT seq FROM (
    ${arm('finished', 'event', 'TRUE')}
    UNION ALL ${arm('work INDEXED BY work_ready', 'event', 'next_attempt_at IS NULL')}
    UNION ALL ${arm('work INDEXED BY work_put_off', 'event', 'next_attempt_at IS NOT NULL')}
    UNION ALL ${arm('ledger NOT INDEXED', 'seq', `seq > ${TAKEN}`)}
    ORDER BY event_time ${order}, seq ${order} LIMIT :reach)`;
}

interface Along {
  readonly id: string;
  readonly each: number;
}

export function timeline(db: Database): (along: Along) => Timeline | undefined {
  const seqOf = placeFinder(db);
  const find = db.prepare<[number], EventRow>('SELECT * FROM events WHERE seq = ?');
  const along = (sql: string) =>
    db.prepare<object, EventRow>(`SELECT events.* FROM (${sql}) CROSS JOIN events USING (seq)`);
  const older = along(resourceOrder('DESC'));
  const newer = along(resourceOrder('ASC'));
  const handledBefore = db
    .prepare<[string, number, number], number>(
      `SELECT 1 FROM finished JOIN results USING (event)
       WHERE resource = ? AND event_time > ? AND is_handled = 1 AND handled_at < ? LIMIT 1`,
    )
    .pluck();
  return ({ id, each }) => {
    const seq = seqOf(id);
    const row = seq === undefined ? undefined : find.get(seq);
    if (!row) return undefined;
    const query = { resource: row.resource, time: row.event_time, seq: row.seq, reach: each };
    const rows = [...newer.all(query).reverse(), row, ...older.all(query)];
    const ended = row.handled_at ?? Number.MAX_SAFE_INTEGER;
    // Null: it has not run yet, or a former version ran it, which did not store what it told the handler.
    const late = row.late ?? handledBefore.get(row.resource, row.event_time, ended);
    return { events: rows.map(toEvent), late: late === 1 };
  };
}

export function steps(db: Database): (id: string) => DoneStep[] {
  const seqOf = placeFinder(db);
  const all = db.prepare<[number | undefined], DoneStep>('SELECT name, result FROM steps WHERE event = ?');
  return (id) => all.all(seqOf(id));
}

type ChannelRow = Omit<Channel, 'event'> & Pick<EventRow, 'event_time' | 'digest'>;

export function channels(db: Database): (page: ChannelPage) => Channels {
  const count = db.prepare<[ChannelState], number>('SELECT count(*) FROM channels WHERE state = ?').pluck();
  const sinceOf = db
    .prepare<[string | undefined], number>('SELECT since FROM channels WHERE resource = ?')
    .pluck();
  const list = (where: string) =>
    db.prepare<object, ChannelRow>(
      `SELECT channels.resource, channels.site_id AS siteId, state, since, event_time, digest
       FROM channels JOIN ledger ON ledger.seq = channels.event
       WHERE ${where} AND (since, channels.resource) < (:since, :after)
       ORDER BY since DESC, channels.resource DESC LIMIT :limit`,
    );
  const ofState = list('state = :state');
  const ofAny = list('TRUE');
  return ({ state, after, limit }) => {
    const from = { since: sinceOf.get(after) ?? Number.MAX_SAFE_INTEGER, after: after ?? '' };
    const rows = state ? ofState.all({ state, ...from, limit }) : ofAny.all({ ...from, limit });
    return {
      counts: { active: count.get('active') ?? 0, idle: count.get('idle') ?? 0 },
      channels: rows.map(({ event_time, digest, ...row }) => ({
        ...row,
        event: eventId(event_time, digest),
      })),
    };
  };
}
