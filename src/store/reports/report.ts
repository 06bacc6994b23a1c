import { type Db, type Dialect, insert, one } from '../dialect.ts';
import { inOrder } from '../queue/lanes.ts';
import type { EventId, StoredEvent } from '../stored.ts';
import { auditOperations, changes } from './audit.ts';
import { newestOfWebhooks, overview, silence } from './overview.ts';

/** How often a process came to a result in a minute. */
export interface Stat {
  /** its begin, milliseconds since the epoch */
  readonly minute: number;
  /** whose run it was; empty for the handlers without a name, and for what is no run */
  readonly subscriber: string;
  /** of the event; empty where there is none */
  readonly kind: string;
  readonly result: string;
  readonly count: number;
  /** how long all of them took together, and the slowest one, milliseconds */
  readonly ms: number;
  readonly slowest: number;
}

/** A life of a process that handles events. Times are milliseconds since the epoch by the clock of the store: PostgreSQL's own. */
export interface Instance {
  /** INSTANCE_NAME */
  readonly name: string;
  /** the name without what is drawn at each start: all lives of a machine have it */
  readonly machine: string;
  /** of the kit */
  readonly version: string;
  readonly startedAt: number;
  readonly seenAt: number;
  /** when it stopped in order */
  readonly leftAt: number | undefined;
  /** how many handlers ran when it was seen */
  readonly running: number;
  /** how far its own clock was ahead then; 0 on SQLite */
  readonly aheadMs: number;
  /** the time of this answer */
  readonly now: number;
  /** `away`: not seen for 30 seconds. `replaced`: another life of its name or machine has begun since it was seen */
  readonly state: 'live' | 'away' | 'left' | 'replaced';
  /** the slots that it has a handler for; one of a subscriber ends in `@NAME` */
  readonly kinds: readonly string[];
}

/** Requests that were refused for one reason, claimed one webhook, and came from one network. */
export interface Refusals {
  readonly reason: string;
  /** as the requests claimed it; empty where they named none */
  readonly webhookId: string;
  readonly network: string;
  readonly firstAt: number;
  readonly lastAt: number;
  readonly count: number;
  /** how many since something of the webhook was last accepted, and when the first of these was */
  readonly inARow: number;
  readonly rowSince: number | undefined;
}

/** The report of a process, every ten seconds. */
export interface Report {
  /** `startedAt`: by its own clock */
  readonly instance: Pick<Instance, 'name' | 'version' | 'startedAt' | 'running' | 'kinds'>;
  readonly stats: readonly Stat[];
  readonly refusals: readonly Refusals[];
  /** webhooks of which something was accepted meanwhile: what is in `refusals` as in a row came afterwards */
  readonly accepted?: readonly string[];
}

/** The schedule by which an app reconciles, and the name in its state under which the last pass is. */
export const RECONCILE = 'reconcile';
export const PASS = 'pass';

/** The last pass that looked for what never came. Times are milliseconds since the epoch. */
export interface Pass {
  readonly beganAt: number;
  /** what was expected since this time */
  readonly since: number;
  readonly expected: number;
  /** what had not come, by kind */
  readonly missing: Readonly<Record<string, number>>;
  /** how many of these wait in quarantine */
  readonly quarantined: number;
  /** whether they were recorded: not where they were more than `most` */
  readonly isRecorded: boolean;
  /** when the last pass began that recorded what was missing; undefined before the first */
  readonly wholeAt?: number | undefined;
}

type ChannelState = 'active' | 'idle';

/** The state of a live channel by its newest event: of one event time, the one received later. */
export interface Channel extends Pick<StoredEvent, 'resource' | 'siteId'> {
  readonly state: ChannelState;
  /** the event time of that event, milliseconds since the epoch */
  readonly since: number;
  readonly event: EventId;
}

export interface ChannelPage {
  readonly state?: ChannelState | undefined;
  /** only channels after this one, as `channel:ID` */
  readonly after?: string | undefined;
  readonly limit: number;
}

/** A process that posts alerts renews its lease every ten seconds; another takes it over so long after the last time. */
const ALERTS_LEASE_MS = 30_000;

/** How long counts stay: pages show a day, operators query the rest. */
const KEPT_MS = 8 * 86_400_000;
/** While nothing comes, they tell what is usual before a silence. */
const KEPT_IN_SILENCE_MS = 30 * 86_400_000;
/** A process that was not seen for so long stands still or has crashed. */
const AWAY_MS = 30_000;
/** One that was not seen for so long is not coming back. */
const GONE_MS = 3_600_000;
/** The random end of a name that config.ts makes where no INSTANCE_NAME is set. */
const DRAWN = /-[0-9a-f]{8}$/;
/** So many of the last lost starts are looked at. */
const MOST_LOST = 1000;
/** Strangers can name any webhook from any network: beside these, each webhook with a stored secret keeps its last group. */
const MOST_REFUSALS = 1000;

/** The reports of processes about themselves, for lists and charts. No event depends on them. */
export function reportOperations(d: Dialect) {
  const counts =
    'minute bigint, instance text, subscriber text, kind text, result text, count bigint, ms double precision, slowest double precision';
  const sum = `ON CONFLICT (minute, instance, subscriber, kind, result) DO UPDATE SET count = stats.count + excluded.count,
    ms = stats.ms + excluded.ms,
    slowest = CASE WHEN excluded.slowest > stats.slowest THEN excluded.slowest ELSE stats.slowest END`;
  const add = insert(d, 'stats', counts, sum);
  const see = `INSERT INTO instances (name, started_at, version, running, kinds, clock_at, seen_at)
    VALUES ($name, $started_at, $version, $running, $kinds, $now, ${d.now}) ON CONFLICT (name, started_at)
    DO UPDATE SET running = excluded.running, clock_at = excluded.clock_at, seen_at = excluded.seen_at`;
  const refused =
    'reason text, webhook_id text, network text, first_at bigint, last_at bigint, count bigint, in_a_row bigint, row_since bigint';
  const again = `ON CONFLICT (reason, webhook_id, network) DO UPDATE SET last_at = excluded.last_at,
    count = refusals.count + excluded.count, in_a_row = refusals.in_a_row + excluded.in_a_row,
    row_since = coalesce(refusals.row_since, excluded.row_since)`;
  const refuse = insert(d, 'refusals', refused, again);
  const forget = `DELETE FROM refusals WHERE last_at < (SELECT last_at FROM refusals ORDER BY last_at DESC
    LIMIT 1 OFFSET ${MOST_REFUSALS - 1}) AND (webhook_id, last_at) NOT IN (SELECT webhook_id, max(last_at) FROM refusals
    WHERE webhook_id IN (SELECT webhook_id FROM secrets) GROUP BY webhook_id)`;
  const lockAlerts = `INSERT INTO meta (name, value) VALUES ('alerts', '{}')
    ON CONFLICT (name) DO UPDATE SET value = meta.value RETURNING value, ${d.now} AS now`;
  const endRows = `UPDATE refusals SET in_a_row = 0, row_since = NULL WHERE in_a_row > 0
    AND ${d.among('webhook_id', 'accepted')}`;
  return {
    ...auditOperations,

    /** Adds the counts of a process, notes when it was last seen, and deletes rows that are too old. */
    async report(db: Db, { instance, stats, refusals, accepted = [], now }: Report & { now: number }) {
      await db.all(see, { ...instance, kinds: instance.kinds.join(), now });
      const own = inOrder(stats, 'minute').map((one) => ({ ...one, instance: instance.name }));
      await db.each(add, own);
      // Reports of several processes would lock the same rows in different orders.
      if (d.hasLocks && refusals.length + accepted.length > 0)
        await db.all('LOCK TABLE refusals IN SHARE ROW EXCLUSIVE MODE');
      if (accepted.length > 0) await db.all(endRows, { accepted });
      await db.each(refuse, refusals);
      const kept = accepted.length > 0 ? KEPT_MS : KEPT_IN_SILENCE_MS;
      await db.all('DELETE FROM stats WHERE minute < $before', { before: now - kept });
      await db.all(`DELETE FROM instances WHERE seen_at < ${d.now} - ${GONE_MS}`, { now });
      if (refusals.length > 0) await db.all(forget);
    },

    /** Notes that a process stops in order. */
    leave: (db: Db, life: Pick<Instance, 'name' | 'startedAt'> & { readonly now: number }) =>
      db.all(`UPDATE instances SET left_at = ${d.now} WHERE name = $name AND started_at = $started_at`, life),

    /** Deletes all lives of a name. */
    forget: (db: Db, instance: Pick<Instance, 'name'>) =>
      db.all('DELETE FROM instances WHERE name = $name', instance),

    /**
     * Takes or renews the lease of the one process that posts alerts, by the clock of the store.
     * @param alerts what it has posted, if it has had the lease: it is stored unless another process took the lease meanwhile
     * @returns what was posted, and the time; undefined where another process has the lease
     */
    async holdAlerts(db: Db, { by, alerts, now }: { by: string; alerts?: Alerts; now: number }) {
      const found = await one<{ value: string; now: number }>(db, lockAlerts, { now });
      const held = { by: '', renewedAt: 0, postedAt: 0, faults: [], ...JSON.parse(found.value) };
      // A clock that was set back frees the lease, too.
      const isFree = Math.abs(found.now - held.renewedAt) >= ALERTS_LEASE_MS;
      if (held.by !== by && (!isFree || alerts)) return undefined;
      const { postedAt, faults } = alerts ?? held;
      const value = JSON.stringify({ by, renewedAt: found.now, postedAt, faults });
      await db.all("UPDATE meta SET value = $value WHERE name = 'alerts'", { value });
      return { postedAt, faults, now: found.now };
    },
  };
}

/** The counts of all processes of one result, in one minute. */
export type Sum = Omit<Stat, 'subscriber' | 'kind'>;

/** A start that has not ended, or whose lease was lost. Times are milliseconds since the epoch. */
export interface AtWork extends Pick<StoredEvent, 'id' | 'subscriber' | 'origin' | 'kind' | 'siteId'> {
  readonly instance: string;
  readonly since: number;
  /** of its lease */
  readonly until: number;
  readonly isRunning: 0 | 1;
}

/** What all processes together have posted, and when something was posted last: milliseconds since the epoch. It is kept as JSON. */
export type Alerts = Readonly<{ postedAt: number; faults: readonly object[] }>;

type Life = Omit<Instance, 'machine' | 'state' | 'kinds'> & { readonly kinds: string };

const LAST_PASS = `SELECT value FROM state WHERE subscriber = '' AND resource = 'schedule:${RECONCILE}' AND name = '${PASS}'`;

const SUMS = `SELECT minute, result, CAST(sum(count) AS bigint) AS count, sum(ms) AS ms, max(slowest) AS slowest
  FROM stats WHERE minute >= $since GROUP BY minute, result`;

const REFUSALS = `SELECT reason, webhook_id, network, first_at, last_at, count, in_a_row, row_since FROM refusals
  ORDER BY last_at DESC`;

const COUNTS = `SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'idle') AS idle
  FROM channels`;
const AFTER_CHANNEL =
  '(since, resource) < (SELECT c.since, c.resource FROM channels c WHERE c.resource = $after)';

/** Queries of the reports of processes, the overview, and live channels. */
export function reportReads(d: Dialect) {
  const lives = `SELECT name, version, seen_at - (clock_at - started_at) AS started_at, seen_at, left_at, running, kinds,
    clock_at - seen_at AS ahead_ms, ${d.now} AS now FROM instances ORDER BY name, seen_at`;
  const atWork = `SELECT instance, since, until, is_running, id, subscriber, origin, kind, site_id FROM (
    SELECT * FROM (SELECT instance, event, started_at AS since, started_at + ms AS until, 0 AS is_running FROM attempts
      WHERE outcome = 'lost' ORDER BY started_at DESC LIMIT ${MOST_LOST}) a
    UNION ALL SELECT owner, event, started_at, until, 1 FROM lanes WHERE lease IS NOT NULL) w
    JOIN events ON seq = event ORDER BY since DESC`;

  return {
    overview,
    newestOfWebhooks,
    silence,
    changes,

    /** The last pass of the schedule; undefined before the first. */
    lastPass: async (db: Db): Promise<Pass | undefined> =>
      (await db.all<{ value: string }>(LAST_PASS)).map(({ value }) => JSON.parse(value))[0],

    /** Live channels by their states, the latest change first. */
    async channels(db: Db, { state, after, limit }: ChannelPage) {
      const place = after === undefined ? 'true' : AFTER_CHANNEL;
      const sql = `SELECT resource, site_id, state, since, event FROM channels WHERE state = coalesce($state, state) AND ${place}
        ORDER BY since DESC, resource DESC LIMIT $limit`;
      const counts = await one<Record<ChannelState, number>>(db, COUNTS);
      return { counts, channels: await db.all<Channel>(sql, { state, after, limit }) };
    },

    /** What all processes have counted since a time, by minutes. */
    stats: (db: Db, from: { readonly since: number }) => db.all<Sum>(SUMS, from),

    /** The lives of processes that were seen within an hour, by name, of each the oldest first. */
    async instances(db: Db, time: { readonly now: number }): Promise<Instance[]> {
      const rows = await db.all<Life>(lives, time);
      const machineOf = (name: string) => name.replace(DRAWN, '');
      const stateOf = ({ name, seenAt, leftAt, now }: Life): Instance['state'] => {
        const begunSince = rows.filter(({ startedAt }) => startedAt > seenAt).map((row) => row.name);
        if (begunSince.includes(name)) return 'replaced';
        if (leftAt === undefined && now - seenAt <= AWAY_MS) return 'live';
        // Not looked at before: several may live on one machine.
        if (begunSince.map(machineOf).includes(machineOf(name))) return 'replaced';
        return leftAt === undefined ? 'away' : 'left';
      };
      return rows.map((row) => {
        const more = { kinds: row.kinds.split(','), machine: machineOf(row.name), state: stateOf(row) };
        return { ...row, ...more };
      });
    },

    /** What processes have at work, or had when their leases were lost, the last started first. */
    atWork: (db: Db) => db.all<AtWork>(atWork),

    /** Refused requests by reason, webhook and network, the last ones first: a thousand groups, and one of each webhook with a secret. */
    refusals: (db: Db) => db.all<Refusals>(REFUSALS),
  };
}
