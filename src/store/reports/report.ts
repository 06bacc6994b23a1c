import { type Db, type Dialect, insert } from '../dialect.ts';
import { inOrder } from '../queue/lanes.ts';

/** How often a process came to a result in a minute. */
export interface Stat {
  /** its begin, milliseconds since the epoch */
  readonly minute: number;
  readonly instance: string;
  /** of the event; empty where there is none */
  readonly kind: string;
  readonly result: string;
  readonly count: number;
  /** how long all of them took together, and the slowest one, milliseconds */
  readonly ms: number;
  readonly slowest: number;
}

/** A process that handles events, as it tells of itself. Times are milliseconds since the epoch. */
export interface Instance {
  /** INSTANCE_NAME */
  readonly name: string;
  /** of the kit */
  readonly version: string;
  readonly startedAt: number;
  readonly seenAt: number;
  /** how many handlers ran then */
  readonly running: number;
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
}

/** What a process reports every ten seconds. */
export interface Report {
  readonly instance: Omit<Instance, 'seenAt'>;
  readonly stats: readonly Omit<Stat, 'instance'>[];
  readonly refusals: readonly Refusals[];
}

/** How long counts stay: pages show a day, operators query the rest. */
const KEPT_MS = 8 * 86_400_000;
/** A process that was not seen for so long is not coming back. */
const AWAY_MS = 3_600_000;
/** Strangers can name any webhook from any network: beside these, each webhook with a stored secret keeps its last group. */
const MOST_REFUSALS = 1000;

/** What processes report of themselves, for lists and charts. No event depends on it. */
export function reportOperations(d: Dialect) {
  const key = 'minute, instance, kind, result';
  const add = insert(
    d,
    'stats',
    'minute bigint, instance text, kind text, result text, count bigint, ms double precision, slowest double precision',
    `ON CONFLICT (${key}) DO UPDATE SET count = stats.count + excluded.count, ms = stats.ms + excluded.ms,
      slowest = CASE WHEN excluded.slowest > stats.slowest THEN excluded.slowest ELSE stats.slowest END`,
  );
  const see = insert(
    d,
    'instances',
    'name text, version text, started_at bigint, seen_at bigint, running int',
    `ON CONFLICT (name) DO UPDATE SET version = excluded.version, started_at = excluded.started_at, seen_at = excluded.seen_at,
      running = excluded.running`,
  );
  const refuse = insert(
    d,
    'refusals',
    'reason text, webhook_id text, network text, first_at bigint, last_at bigint, count bigint',
    `ON CONFLICT (reason, webhook_id, network) DO UPDATE SET last_at = excluded.last_at, count = refusals.count + excluded.count`,
  );
  const forget = `DELETE FROM refusals WHERE last_at < (SELECT last_at FROM refusals ORDER BY last_at DESC
    LIMIT 1 OFFSET ${MOST_REFUSALS - 1}) AND (webhook_id, last_at) NOT IN (SELECT webhook_id, max(last_at) FROM refusals
    WHERE webhook_id IN (SELECT webhook_id FROM secrets) GROUP BY webhook_id)`;
  return {
    /** Adds the counts of a process, notes when it was last seen, and deletes rows that are too old. */
    async report(
      db: Db,
      { instance, stats, refusals, now }: Report & { readonly now: number },
    ): Promise<void> {
      const { name } = instance;
      await db.each(see, [{ ...instance, seenAt: now }]);
      const counted = stats.map((one) => ({ ...one, instance: name }));
      await db.each(add, inOrder(counted, 'minute'));
      await db.each(refuse, inOrder(inOrder(inOrder(refusals, 'network'), 'webhookId'), 'reason'));
      await db.all('DELETE FROM stats WHERE minute < $before', { before: now - KEPT_MS });
      await db.all('DELETE FROM instances WHERE seen_at < $before', { before: now - AWAY_MS });
      if (refusals.length > 0) await db.all(forget);
    },

    /** Deletes the row of a process that stops in order. */
    async leave(db: Db, instance: { readonly name: string }): Promise<void> {
      await db.all('DELETE FROM instances WHERE name = $name', instance);
    },
  };
}

/** What all processes counted of one result, in one minute or of one kind. */
export interface Sum {
  /** the begin of the minute, or the kind */
  readonly name: number | string;
  readonly result: string;
  readonly count: number;
  readonly ms: number;
  readonly slowest: number;
}

/** What processes have told. */
export function countReads() {
  return {
    /** Sums of what all processes have stored since a time, by minutes or kinds. */
    async stats(
      db: Db,
      { since, by }: { readonly since: number; readonly by: 'minute' | 'kind' },
    ): Promise<Sum[]> {
      const rows = await db.all<Sum>(
        `SELECT ${by} AS name, result, sum(count) AS count, sum(ms) AS ms, max(slowest) AS slowest
         FROM stats WHERE minute >= $since GROUP BY ${by}, result`,
        { since },
      );
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    },

    /** The processes that were seen within an hour and did not stop in order, by name. */
    instances: (db: Db) =>
      db.all<Instance>('SELECT name, version, started_at, seen_at, running FROM instances ORDER BY name'),

    /** Refused requests by reason, webhook and network, the last ones first: a thousand groups, and one of each webhook with a secret. */
    refusals: async (db: Db): Promise<Refusals[]> => {
      const columns = 'reason, webhook_id, network, first_at, last_at, count';
      const rows = await db.all<Refusals>(`SELECT ${columns} FROM refusals ORDER BY last_at DESC`);
      return rows.map((row) => ({ ...row, count: Number(row.count) }));
    },
  };
}
