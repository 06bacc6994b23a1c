import { type Db, type Dialect, insert } from '../dialect.ts';
import { claimOperations } from './claim.ts';
import { quarantineOperations } from './quarantine.ts';
import { inOrder, recordOperations } from './record.ts';
import { secretOperations } from './secrets.ts';
import { settleOperations } from './settle.ts';
import { wakeOperations } from './wake.ts';

function pruneOperations(d: Dialect) {
  const isPrunable = "ended_at IS NOT NULL AND body IS NOT NULL AND status <> 'dead' AND ended_at < $before";
  const find = `SELECT seq FROM events WHERE ${isPrunable} ORDER BY ended_at LIMIT $limit`;
  const empty = d.over(
    `UPDATE events SET body = NULL FROM r(seq bigint) WHERE events.seq = r.seq AND ${isPrunable} RETURNING events.seq AS event`,
  );
  const remove = (table: string) =>
    d.over(`DELETE FROM ${table} USING r(event bigint) WHERE ${table}.event = r.event`);
  const [attempts, steps] = [remove('attempts'), remove('steps')];
  return {
    /** Empties events that ended before a time, all or those in given places, and keeps their identities. @returns how many */
    async prune(
      db: Db,
      { before, limit, among }: { before: number; limit: number; among?: readonly number[] | undefined },
    ) {
      const rows = among?.map((seq) => ({ seq })) ?? (await db.all<{ seq: number }>(find, { before, limit }));
      const emptied = await db.each<{ event: number }>(empty, inOrder(rows, 'seq'), { before });
      await db.each(attempts, emptied);
      await db.each(steps, emptied);
      return emptied.length;
    },
  };
}

/** What a process counted in a minute: so many times it came to this result. */
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

/** Charts need a day; the rest is for the queries of operators. */
const KEPT_MS = 8 * 86_400_000;
/** A process that was not seen for so long is not coming back. */
const AWAY_MS = 3_600_000;
/** Strangers can name any webhook from any network. */
const MOST_REFUSALS = 1000;

function reportOperations(d: Dialect) {
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
    LIMIT 1 OFFSET ${MOST_REFUSALS - 1})`;
  return {
    /** Adds what a process counted, says that it lives, and removes what is too old. */
    async report(
      db: Db,
      { instance, stats, refusals, now }: Report & { readonly now: number },
    ): Promise<void> {
      const { name } = instance;
      await db.each(see, [{ ...instance, seenAt: now }]);
      const counted = stats.map((one) => ({ ...one, instance: name }));
      await db.each(add, inOrder(inOrder(inOrder(counted, 'result'), 'kind'), 'minute'));
      await db.each(refuse, inOrder(inOrder(inOrder(refusals, 'network'), 'webhookId'), 'reason'));
      await db.all('DELETE FROM stats WHERE minute < $before', { before: now - KEPT_MS });
      await db.all('DELETE FROM instances WHERE seen_at < $before', { before: now - AWAY_MS });
      if (refusals.length > 0) await db.all(forget);
    },

    /** A process stops in order. */
    async leave(db: Db, instance: { readonly name: string }): Promise<void> {
      await db.all('DELETE FROM instances WHERE name = $name', instance);
    },
  };
}

/**
 * What changes the store, each within one transaction. One order of locks holds everywhere: new ids by id, then lanes by name, then
 * existing events by seq.
 */
export function operationsOf(d: Dialect) {
  const recording = recordOperations(d);
  const ping = `INSERT INTO meta (name, value) VALUES ('pings', '1')
    ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(meta.value AS bigint) + 1 AS text)`;
  const pauseClaims = `INSERT INTO meta (name, value) VALUES ('paused', $value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  return {
    ...recording,
    ...claimOperations(d),
    ...settleOperations(d),
    ...wakeOperations(d),
    ...pruneOperations(d),
    ...quarantineOperations(d, recording),
    ...secretOperations(d),
    ...reportOperations(d),
    /** Commits something: a page that does not change would not be written. */
    async ping(db: Db, _: object): Promise<void> {
      await db.all(ping);
    },

    /** No claim leases anything from then on, in any process. @param value a `Pause` as JSON */
    async pause(db: Db, pause: { readonly value: string }): Promise<void> {
      await db.all(pauseClaims, pause);
    },

    /** @returns whether handling was paused */
    async resume(db: Db, _: object): Promise<boolean> {
      return (await db.all("DELETE FROM meta WHERE name = 'paused' RETURNING name")).length > 0;
    },
  };
}

export type Operations = ReturnType<typeof operationsOf>;

/** The operations whose commits need not be on disk: what a power cut takes of them runs again. */
export const RELAXED: ReadonlySet<string> = new Set<keyof Operations>(['claim', 'renew', 'wake', 'settle']);
