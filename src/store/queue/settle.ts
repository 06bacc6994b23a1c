import { type Db, type Dialect, dropping, insert } from '../dialect.ts';
import type { Claim, DoneStep, Of, Settlement, Timed } from '../stored.ts';
import { freeing, inOrder, isLane, type LeasedLane, type LeaseKey, lockLanes, named } from './lanes.ts';
import { changingReminders } from './reminders.ts';

export type Settling = Settlement & LeaseKey & Pick<Claim, 'starts' | 'replays'>;

/** Why an event waits after a start that ended so. After its first crash it is ready at once. */
const WHY: Readonly<Record<string, string>> = { retry: 'asked', error: 'failed', timeout: 'failed' };

/** Ends starts whose lanes are locked: each event goes on or ends, and the attempt is recorded. */
export function ending(d: Dialect) {
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const r = d.rows(
    'seq bigint, status text, after_ms bigint, error text, ended_at bigint, counts int, is_crash int, waiting text, late int, ' +
      'lease text, replays int, starts int, owner text, started_at bigint, ms bigint, outcome text, log text',
  );
  // A suspect waits until no other one is ready: see wake.
  const suspectWaits = `CASE WHEN ${r.status} = 'pending' AND crashes + ${r.is_crash} >= 2 THEN 0 END`;
  const end = `UPDATE events SET status = ${r.status}, last_error = ${r.error}, starts = events.starts + 1,
    attempts = attempts + ${r.counts},
    next_at = ${d.now} + coalesce(${r.after_ms}, ${suspectWaits}), ended_at = ${r.ended_at}, crashes = crashes + ${r.is_crash},
    asked_at = coalesce(events.asked_at, CASE WHEN ${r.waiting} = 'asked' THEN ${d.now} END),
    late = coalesce(events.late, ${r.late}), waiting = CASE WHEN crashes + ${r.is_crash} < 2 THEN ${r.waiting} END,
    handled_at = CASE WHEN ${r.status} = 'handled' THEN ${r.ended_at} ELSE handled_at END
    ${r.from} WHERE ${r.is('events.seq')}`;
  const addAttempt = `INSERT INTO attempts (event, lease, replay, attempt, instance, started_at, ms, outcome, error, log)
    SELECT ${r.seq}, ${r.lease}, ${r.replays}, ${r.starts}, ${r.owner}, ${r.started_at}, ${r.ms}, ${r.outcome}, ${r.error},
    ${r.log} ${r.from}`;
  return async (db: Db, ends: readonly (LeasedLane & Settling)[], now: number): Promise<void> => {
    const rows = inOrder(ends, 'seq').map((one) => ({
      ...one,
      isCrash: one.outcome === 'lost',
      waiting: one.status === 'pending' ? WHY[one.outcome] : undefined,
      late: one.outcome === 'elsewhere' ? undefined : (one.late ?? 0), // no handler has run yet
      endedAt: one.status === 'pending' ? undefined : one.startedAt + one.ms,
    }));
    if (lockEvents) await db.each(lockEvents, rows);
    await db.each(end, rows, { now });
    await db.each(addAttempt, rows);
  };
}

export function settleOperations(d: Dialect) {
  const lock = lockLanes(d);
  const settled = d.rows('seq bigint, lease text, resource text');
  const renew = `UPDATE lanes SET until = ${d.now} + $lease_ms ${settled.from} WHERE ${isLane(settled)}`;
  const settledBefore = `SELECT attempts.lease AS lease FROM ${settled.beside}attempts
    WHERE ${settled.is('attempts.event', 'seq')} AND attempts.lease = ${settled.lease} AND outcome <> 'lost'`;
  const endStarts = ending(d);
  const free = freeing(d);
  const toValue = 'ON CONFLICT (subscriber, resource, name) DO UPDATE SET value = excluded.value';
  const setState = insert(d, 'state', 'subscriber text, resource text, name text, value text', toValue);
  const dropState = dropping(d, 'state');
  const { change } = changingReminders(d);
  const step = 'event bigint, name text, result text';
  const addStep = insert(d, 'steps', step, 'ON CONFLICT (event, name) DO NOTHING');

  const forget = 'DELETE FROM state WHERE subscriber = $subscriber AND resource = $resource RETURNING name';
  const storedStep = 'SELECT result FROM steps WHERE event = $event AND name = $name';

  /** Locks lanes. @returns those whose leases are still those of the keys, each with its key */
  const heldOf = async <K extends LeaseKey>(db: Db, keys: readonly K[], of: Of) => {
    const lanes = await db.each<LeasedLane>(lock, named(keys.map(({ resource }) => resource)), of);
    const byLease = new Map(keys.map((key) => [key.lease, key]));
    return lanes.flatMap((lane) => {
      const key = byLease.get(lane.lease);
      return key && key.seq === lane.seq ? { ...lane, ...key } : [];
    });
  };

  return {
    /** Renews leases. @returns those that their owner still has */
    async renew(db: Db, { list, ...lease }: Timed & { list: readonly LeaseKey[]; leaseMs: number }) {
      const held = await heldOf(db, list, lease);
      await db.each(renew, held, lease);
      return held.map((one) => one.lease);
    },

    /**
     * Ends leases of one subscriber. A settlement changes nothing, where another process has taken the event over meanwhile.
     * @returns for each whether the lease was still the owner's, or the same settlement was stored before, and whether more of the resource is ready
     */
    async settle(db: Db, { list, subscriber, now }: Timed & { list: readonly Settling[] }) {
      const held = await heldOf(db, list, { subscriber });
      const leases = new Set(held.map(({ lease }) => lease));
      await endStarts(db, held, now);
      const changes = held.flatMap(({ resource, state = [] }) =>
        state.map((one) => ({ subscriber, resource, ...one })),
      );
      const { kept = [], gone = [] } = Object.groupBy(changes, ({ value }) =>
        value === null ? 'gone' : 'kept',
      );
      await db.each(setState, kept);
      await db.each(dropState, gone, { subscriber });
      const reminders = held.flatMap(
        ({ resource, seq: setBy, replays: replay, starts: start, reminders = [] }) =>
          reminders.map((one) => ({ ...one, resource, setBy, replay, start })),
      );
      await change(db, reminders, { subscriber, now });
      const more = await free(db, held, { subscriber });
      // The attempt is stored already: this settlement was sent twice, as the answer to the first was lost.
      const others = list.filter(({ lease }) => !leases.has(lease));
      const attempts = await db.each<{ lease: string }>(settledBefore, others);
      const before = new Set(attempts.map(({ lease }) => lease));
      return list.map(({ lease, resource }) => ({
        isHeld: leases.has(lease) || before.has(lease),
        hasMore: leases.has(lease) && more.has(resource),
      }));
    },

    /**
     * Stores the result of a step while its lease is the owner's, unless there is one.
     * @returns the stored result, this one or an earlier one; undefined if none is stored
     */
    async saveStep(db: Db, { name, result, ...lease }: LeaseKey & Of & DoneStep) {
      const row = { event: lease.seq, name, result };
      if ((await heldOf(db, [lease], lease)).length > 0) await db.each(addStep, [row]);
      return (await db.all<Pick<DoneStep, 'result'>>(storedStep, row))[0];
    },

    /** Deletes the state of a resource. A settlement under way may set it again. @returns how many names it had */
    deleteState: async (db: Db, lane: Of & Pick<Claim, 'resource'>) => (await db.all(forget, lane)).length,
  };
}
