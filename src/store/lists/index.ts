import { type Db, type Dialect, one } from '../dialect.ts';
import type { Lane } from '../operations/record.ts';
import { type Keyed, keyCheck, secretsOf } from '../operations/secrets.ts';
import type { LeaseKey } from '../operations/settle.ts';
import { IS_OURS, READY } from '../schema.ts';
import type { DoneStep, Giving, Quarantined, StateValue, StoredEvent } from '../stored.ts';
import { problems } from './problems.ts';
import { reportReads } from './reports.ts';
import { COLUMNS, type EventRow, eventOf, LANES, searchReads } from './search.ts';
import type {
  Attempt,
  Channel,
  ChannelPage,
  Channels,
  Overview,
  QuarantinePage,
  RunningStart,
  Share,
  StatePlace,
  States,
  StatesQuery,
  WaitingWebhook,
} from './types.ts';

const PAGE = 500;

function quarantineReads() {
  const columns =
    'id, kind, webhook_id, site_id, resource, event_time, received_at, body, source, deliveries';
  const newestFirst = `SELECT ${columns} FROM quarantine ORDER BY seq DESC LIMIT $newest`;
  const largest = `SELECT webhook_id, count(*) AS notifications, min(received_at) AS first_at, max(received_at) AS last_at
    FROM quarantine GROUP BY webhook_id ORDER BY notifications DESC, webhook_id LIMIT ${PAGE}`;
  const sums = `SELECT coalesce(sum(bytes), 0) AS bytes,
    (SELECT coalesce(sum(bytes), 0) FROM quarantine WHERE ${IS_OURS}) AS ours FROM quarantine`;
  const sharesBy = (column: string, names: string) =>
    `SELECT ${names}, sum(bytes) AS bytes FROM quarantine GROUP BY ${column} HAVING sum(bytes) >= $least`;
  const shares = `${sharesBy('network', 'network, NULL AS webhook_id')} UNION ALL ${sharesBy('webhook_id', 'NULL, webhook_id')}`;

  const whose = (webhook: string | undefined) => (webhook === undefined ? 'true' : 'webhook_id = $webhook');
  const quarantineSize = async (db: Db, { webhook }: { webhook?: string | undefined }): Promise<number> => {
    const sql = `SELECT count(*) AS n FROM quarantine WHERE ${whose(webhook)}`;
    return (await one<{ n: number }>(db, sql, { webhook })).n;
  };

  return {
    quarantineSize,

    /** Entries in the order of arrival. */
    async quarantined(db: Db, { webhook, after = 0, limit = PAGE }: QuarantinePage): Promise<Quarantined[]> {
      const where = `seq > $after AND ${whose(webhook)}`;
      const sql = `SELECT seq, token, ${columns} FROM quarantine WHERE ${where} ORDER BY seq LIMIT $limit`;
      return db.all<Quarantined>(sql, { webhook, after, limit });
    },

    /** How many bytes entries hold together, those of webhooks with a stored secret, and each network or webhook that has `least`. */
    async shares(db: Db, { least }: { readonly least: number }) {
      const { bytes, ours } = await one<{ bytes: number; ours: number }>(db, sums);
      return { bytes, ours, shares: await db.all<Share>(shares, { least }) };
    },

    /** The newest entries of a network or webhook, or of all, before a place. */
    async newestOf(db: Db, { limit, ...share }: Share & { readonly limit: number }): Promise<Giving[]> {
      const { network, webhookId, before = Number.MAX_SAFE_INTEGER } = share;
      const which = network === undefined ? whose(webhookId) : 'network = $network';
      const sql = `SELECT seq, network, webhook_id, bytes, CASE WHEN ${IS_OURS} THEN 1 ELSE 0 END AS is_ours FROM quarantine
        WHERE ${which} AND seq < $before ORDER BY seq DESC LIMIT $limit`;
      return db.all<Giving>(sql, { network, webhook: webhookId, before, limit });
    },

    async quarantineSummary(db: Db, page: { readonly newest: number }) {
      const [total, webhooks] = [await quarantineSize(db, {}), await db.all<WaitingWebhook>(largest)];
      const newest = await db.all<Omit<Quarantined, 'seq' | 'token'>>(newestFirst, page);
      return { total, webhooks, newest };
    },
  };
}

/** How many values one look at the states of all media or channels takes. */
const STATES_PAGE = 500;
/** How many events are looked at for the one that has been pending for longest. */
const OLDEST = 1000;

const START: StatePlace = { resource: '', name: '' };
const AFTER_CHANNEL =
  '(since, resource) < (SELECT c.since, c.resource FROM channels c WHERE c.resource = $after)';

interface OverviewRow extends Omit<Overview, 'pending' | 'paused'> {
  readonly ready: number;
  readonly paused: string | undefined;
}

type Id = { readonly id: string };

/** What readers ask. None of it delays writes. */
export function readsOf(d: Dialect) {
  const searching = searchReads(d);
  const event = `SELECT ${COLUMNS} FROM events e ${LANES} WHERE e.id = $id`;
  const attempts = `SELECT a.replay, a.attempt, a.started_at, a.ms AS duration_ms, a.outcome, a.error, a.instance FROM attempts a
    JOIN events e ON e.seq = a.event WHERE e.id = $id ORDER BY a.replay, a.attempt, a.started_at`;
  const running = `SELECT l.started_at, l.until AS lease_until, l.owner AS instance
    FROM events e ${LANES} WHERE e.id = $id AND l.lease IS NOT NULL`;
  const steps =
    'SELECT s.name, s.result FROM steps s JOIN events e ON e.seq = s.event WHERE e.id = $id ORDER BY s.name';
  const step = 'SELECT result FROM steps WHERE event = $seq AND name = $name';
  const holds = 'SELECT 1 FROM lanes WHERE resource = $resource AND lease = $lease AND event = $seq';
  const state = 'SELECT name, value FROM state WHERE resource = $resource ORDER BY name';
  const channelSums = 'SELECT state, count(*) AS n FROM channels GROUP BY state';
  const count = (from: string) => `(SELECT count(*) FROM ${from})`;
  // Replayed events are old on purpose: of the many that a replay may have, so many lanes are passed over, and ten events of each.
  const oldestOf = (which: string) => `SELECT min(received_at) FROM (
      SELECT e.received_at, e.replays, e.starts FROM events e
      WHERE e.resource = l.resource AND e.status = 'pending' AND e.next_at IS NULL AND e.seq <> coalesce(l.event, 0)
      ORDER BY e.event_time, e.seq LIMIT 10) r WHERE replays = 0 AND ${which}`;
  const lanes = (which: string, lease: string, end: string) =>
    `SELECT (${oldestOf(which)}) AS received_at, 0 AS replays FROM (SELECT resource, event FROM lanes WHERE lease ${lease} ${end}) l`;
  const ready = (which: string) =>
    `${lanes(which, 'IS NULL', `ORDER BY ready_at LIMIT ${OLDEST}`)} UNION ALL ${lanes(which, 'IS NOT NULL', '')}`;
  const oldestWaiting = `SELECT * FROM (SELECT received_at, replays FROM events
    WHERE held_by IS NULL AND next_at IS NOT NULL ORDER BY held_by, next_at LIMIT ${OLDEST}) w`;
  const oldest = (from: string) => `(SELECT min(received_at) FROM (${from}) o WHERE replays = 0)`;
  const overview = `SELECT ${count(`events WHERE ${READY}`)} AS ready, ${count('events WHERE next_at IS NOT NULL')} AS waiting,
    ${count('lanes WHERE lease IS NOT NULL')} AS running, ${count("events WHERE status = 'dead'")} AS dead,
    ${count('quarantine')} AS quarantined,
    coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'quarantine_lost'), 0) AS quarantine_lost,
    ${oldest(ready('starts = 0'))} AS oldest_ready_at, ${oldest(`${ready('true')} UNION ALL ${oldestWaiting}`)} AS oldest_pending_at,
    (SELECT min(next_at) FROM events WHERE held_by IS NULL AND next_at IS NOT NULL) AS next_at,
    (SELECT value FROM meta WHERE name = 'paused') AS paused`;
  const states = `SELECT resource, name, value FROM state WHERE resource >= $least AND resource < $most
    AND (resource, name) > ($resource, $name) ORDER BY resource, name LIMIT $limit`;

  return {
    ...searching,
    ...quarantineReads(),
    keyCheck: (db: Db, _: object) => keyCheck(db),
    secrets: (db: Db, keyed: Keyed) => secretsOf(db, keyed),
    ...reportReads(),

    async event(db: Db, id: Id): Promise<StoredEvent | undefined> {
      const [row] = await db.all<EventRow>(event, id);
      return row && eventOf(row);
    },

    attempts: (db: Db, id: Id) => db.all<Attempt>(attempts, id),

    running: async (db: Db, id: Id) => (await db.all<RunningStart>(running, id))[0],

    /** The events around one of its resource, newest event time first. */
    async timeline(db: Db, { id, each }: Id & { each: number }): Promise<StoredEvent[] | undefined> {
      const [row] = await db.all<EventRow>(event, { id });
      if (!row) return undefined;
      const filter = { resource: row.resource };
      const stretch = { after: id, reach: each, limit: each };
      const newer = await searching.search(db, { filter, stretch, order: 'oldest' });
      const older = await searching.search(db, { filter, stretch, order: 'newest' });
      return [...newer.events.toReversed(), eventOf(row), ...older.events];
    },

    async overview(db: Db): Promise<Overview> {
      const { ready, paused, ...row } = await one<OverviewRow>(db, overview);
      return {
        ...row,
        pending: Math.max(0, ready - row.running) + row.waiting,
        paused: paused === undefined ? undefined : JSON.parse(paused),
      };
    },

    problems,

    async channels(db: Db, { state, after, limit }: ChannelPage): Promise<Channels> {
      const sums = await db.all<{ state: string; n: number }>(channelSums);
      const sumOf = (name: string) => Number(sums.find((sum) => sum.state === name)?.n ?? 0);
      const counts = { active: sumOf('active'), idle: sumOf('idle') };
      const ofState = state === undefined ? 'true' : 'state = $state';
      const place = after === undefined ? 'true' : AFTER_CHANNEL;
      const sql = `SELECT resource, site_id, state, since, event FROM channels WHERE ${ofState} AND ${place}
        ORDER BY since DESC, resource DESC LIMIT $limit`;
      return { counts, channels: await db.all<Channel>(sql, { state, after, limit }) };
    },

    async steps(db: Db, event: Id): Promise<DoneStep[]> {
      return (await db.all<DoneStep>(steps, event)).map(({ name, result = null }) => ({ name, result }));
    },

    async step(db: Db, asked: LeaseKey & { readonly name: string }) {
      const [row] = await db.all<DoneStep>(step, asked);
      const isHeld = (await db.all(holds, asked)).length > 0;
      return { done: row && { result: row.result ?? null }, isHeld };
    },

    state: (db: Db, lane: Lane) => db.all<StateValue>(state, lane),

    async states(db: Db, { of, name, after = START }: StatesQuery): Promise<States> {
      const params = { least: `${of}:`, most: `${of};`, ...after, limit: STATES_PAGE };
      const rows = await db.all<StatePlace & StateValue>(states, params);
      const last = rows.length === STATES_PAGE ? rows.at(-1) : undefined;
      return {
        values: name === undefined ? rows : rows.filter((row) => row.name === name),
        next: last && { resource: last.resource, name: last.name },
      };
    },
  };
}

export type Reads = ReturnType<typeof readsOf>;
