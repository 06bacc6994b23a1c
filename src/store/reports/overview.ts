import { type Db, one } from '../dialect.ts';
import { subscriberNames } from '../queue/lists/search.ts';
import { IS_OWN, OF, READY } from '../schema.ts';
import type { Pause } from '../stored.ts';

/** The pending and running events of one subscriber, or of all. Times are milliseconds since the epoch. */
export interface Work {
  /** ready and waiting */
  readonly pending: number;
  /** of these, so many wait for a retry */
  readonly waiting: number;
  /** when the first of these is due; undefined if none waits */
  readonly nextAt: number | undefined;
  readonly running: number;
  /**
   * when the event was received that has been ready for longest; undefined if none is. Replays do not count, since they are old on purpose,
   * nor what has asked to come back
   */
  readonly oldestPendingAt: number | undefined;
  /** the same of those that no handler has started yet, and that wait for no time: one should have taken them up by now */
  readonly oldestReadyAt: number | undefined;
}

/** The store at a glance. */
export interface Overview extends Work {
  readonly dead: number;
  /** the work of each subscriber by its name, '' for the handlers without a name */
  readonly subscribers: Readonly<Record<string, Work>>;
  /** undefined unless handling is paused */
  readonly paused: Pause | undefined;
  readonly quarantined: number;
  /** notifications that the quarantine had no room for, since the database was made */
  readonly quarantineLost: number;
}

/** How many events are searched for the one that has been pending for longest. */
const OLDEST = 1000;

const count = (from: string) => `(SELECT count(*) FROM ${from})`;
// Replayed events are old on purpose and do not count: the query passes over so many lanes that have some, and ten events of each.
const oldestOf = (which: string) => `(SELECT min(received_at) FROM (
    SELECT e.received_at, e.replays, e.starts, e.asked_at, e.origin FROM events e
    WHERE e.subscriber = l.subscriber AND e.resource = l.resource AND e.status = 'pending' AND e.next_at IS NULL
    AND e.seq <> coalesce(l.event, 0)
    ORDER BY e.event_time, e.seq LIMIT 10) r WHERE replays = 0 AND asked_at IS NULL AND ${which})`;
const readyIn = (lanes: string, which = 'true') =>
  `SELECT ${oldestOf(which)} AS pending_at, ${oldestOf(`starts = 0 AND ${which}`)} AS ready_at
    FROM (SELECT subscriber, resource, event FROM lanes WHERE ${OF} AND ${lanes}) l`;
const waits = `SELECT received_at, NULL FROM (SELECT received_at, replays, asked_at FROM events
  WHERE ${OF} AND held_by IS NULL AND next_at IS NOT NULL ORDER BY held_by, next_at LIMIT ${OLDEST}) w
  WHERE asked_at IS NULL AND replays = 0`;
const atAGlance = `SELECT ${count("events WHERE status = 'dead'")} AS dead, ${count('quarantine')} AS quarantined,
  coalesce((SELECT CAST(value AS bigint) FROM meta WHERE name = 'quarantine_lost'), 0) AS quarantine_lost,
  (SELECT value FROM meta WHERE name = 'paused') AS paused`;
// What a subscriber was not given yet is ready for it, too.
const notGiven = `SELECT received_at, received_at FROM (SELECT received_at, origin FROM events WHERE subscriber = ''
  AND seq > (SELECT place FROM subscribers WHERE name = CAST($subscriber AS text))
  ORDER BY seq LIMIT ${OLDEST}) n WHERE NOT ${IS_OWN}`;
// A run of a schedule may take longer than its times are apart.
const oldest = `SELECT min(pending_at) AS oldest_pending_at, min(ready_at) AS oldest_ready_at FROM (
  ${readyIn(`lease IS NULL ORDER BY over_limit, ready_at LIMIT ${OLDEST}`)} UNION ALL
  ${readyIn('lease IS NOT NULL', "origin <> 'schedule'")} UNION ALL ${waits} UNION ALL ${notGiven}) o`;
// Asked of one subscriber after the other: the indexes by which work is found begin with it.
const waiting = count(`events WHERE ${OF} AND next_at IS NOT NULL`);
const running = count(`lanes WHERE ${OF} AND lease IS NOT NULL`);
const workOf = `SELECT ${count(`events WHERE ${OF} AND ${READY}`)} - ${running} + ${waiting} AS pending,
  ${waiting} AS waiting, ${running} AS running,
  (SELECT next_at FROM events WHERE ${OF} AND held_by IS NULL AND next_at IS NOT NULL
  ORDER BY held_by, next_at LIMIT 1) AS next_at,
  oldest_pending_at, oldest_ready_at FROM (${oldest}) o`;

type OverviewRow = Pick<Overview, 'dead' | 'quarantined' | 'quarantineLost'> & { readonly paused?: string };

/** How many of the newest events tell which webhooks something is accepted of, and among how many these are: ticks may be far more. */
const NEAR = 4000;
const REACH = 20_000;
const newestByWebhook = `SELECT webhook_id, max(received_at) AS received_at
  FROM (SELECT webhook_id, received_at, subscriber FROM events WHERE seq > (SELECT max(seq) FROM events) - ${REACH}
  AND origin = 'notification'
    ORDER BY seq DESC LIMIT ${NEAR}) e WHERE subscriber = '' GROUP BY webhook_id`;

/** When the newest notification of each webhook was received. Only the newest 4,000 count. */
export const newestOfWebhooks = (db: Db) =>
  db.all<{ webhookId: string; receivedAt: number }>(newestByWebhook);

const DAY_MS = 86_400_000;
const came = "FROM stats WHERE result IN ('accepted', 'duplicate')";
const ends = `SELECT max(minute) AS last_at, (SELECT received_at FROM events ORDER BY seq LIMIT 1) AS first_at ${came}`;
// A silence counts whole that began before the week: counts stay a day longer. Before the first event of all there was none.
const gaps = `SELECT minute, minute - lag(minute, 1,
  CASE WHEN first_at > last_at - ${8 * DAY_MS} THEN first_at ELSE last_at - ${8 * DAY_MS} END)
  OVER (ORDER BY minute) AS gap FROM (SELECT DISTINCT minute ${came}) m CROSS JOIN ends`;
const newest = "SELECT received_at FROM events WHERE origin = 'notification' ORDER BY seq DESC LIMIT 1";
const usual = `WITH ends AS (${ends}), gaps AS (${gaps}) SELECT coalesce(last_at, (${newest})) AS last_at, first_at,
  (SELECT max(gap) FROM gaps WHERE minute > last_at - ${7 * DAY_MS}) AS longest_ms FROM ends`;

/**
 * The last minute in which a notification came, undefined if none ever did, and the longest time without one that ended in the week before;
 * undefined if that is too long ago. Both stay the same until one comes. `firstAt`: when the first event of all was received.
 */
export const silence = (db: Db) =>
  one<Partial<Record<'lastAt' | 'longestMs' | 'firstAt', number>>>(db, usual);

export async function overview(db: Db): Promise<Overview> {
  const { paused, ...row } = await one<OverviewRow>(db, atAGlance);
  const subscribers: Record<string, Work> = {};
  for (const subscriber of await subscriberNames(db))
    subscribers[subscriber] = await one<Work>(db, workOf, { subscriber });
  const works = Object.values(subscribers);
  const sum = (name: 'pending' | 'waiting' | 'running') => works.reduce((all, one) => all + one[name], 0);
  const first = (name: 'oldestReadyAt' | 'oldestPendingAt' | 'nextAt') =>
    works.flatMap((one) => one[name] ?? []).sort((one, other) => one - other)[0];
  return {
    ...row,
    pending: sum('pending'),
    waiting: sum('waiting'),
    running: sum('running'),
    oldestReadyAt: first('oldestReadyAt'),
    oldestPendingAt: first('oldestPendingAt'),
    nextAt: first('nextAt'),
    subscribers,
    paused: paused === undefined ? undefined : JSON.parse(paused),
  };
}
