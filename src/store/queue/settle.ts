import { type Db, type Dialect, dropping, insert } from '../dialect.ts';
import type { Claim, DoneStep, Of, Settlement, Timed } from '../stored.ts';
import { freeing, inOrder, type Lane, type LeasedLane, type LeaseKey, lockLanes, named } from './lanes.ts';
import { changingReminders } from './reminders.ts';

export type Settling = Settlement & LeaseKey & Pick<Claim, 'starts' | 'replays' | 'askedAt'>;

/** Why an event waits after a start that ended so. After its first crash it is ready at once. */
const WHY: Readonly<Record<string, string>> = { retry: 'asked', error: 'failed', timeout: 'failed' };

/** Ends starts whose lanes are locked: each event goes on or ends, and the attempt is recorded. */
export function ending(d: Dialect) {
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const r = d.rows(
    'seq bigint, status text, after_ms bigint, error text, ended_at bigint, counts int, is_crash int, asked_at bigint, waiting text, late int',
  );
  // A suspect waits until no other one is ready: see wake.
  const suspectWaits = `CASE WHEN ${r.status} = 'pending' AND crashes + ${r.is_crash} >= 2 THEN 0 END`;
  const end = `UPDATE events SET status = ${r.status}, last_error = ${r.error}, starts = starts + 1,
    next_at = ${d.now} + coalesce(${r.after_ms}, ${suspectWaits}), ended_at = ${r.ended_at},
    attempts = attempts + ${r.counts}, crashes = crashes + ${r.is_crash}, asked_at = coalesce(events.asked_at, ${r.asked_at}),
    late = coalesce(events.late, ${r.late}), waiting = CASE WHEN crashes + ${r.is_crash} < 2 THEN ${r.waiting} END,
    handled_at = CASE WHEN ${r.status} = 'handled' THEN ${r.ended_at} ELSE handled_at END
    ${r.from} WHERE ${r.is('events.seq')}`;
  const addAttempt = insert(
    d,
    'attempts',
    'event bigint, lease text, replay int, attempt int, instance text, started_at bigint, ms bigint, outcome text, error text, log text',
  );
  return async (db: Db, ends: readonly (LeasedLane & Settling)[], now: number): Promise<void> => {
    const rows = ends.map((one) => ({
      ...one,
      event: one.seq,
      attempt: one.starts,
      replay: one.replays,
      isCrash: one.outcome === 'lost',
      waiting: one.status === 'pending' ? WHY[one.outcome] : undefined,
      instance: one.owner,
      late: one.outcome === 'elsewhere' ? undefined : (one.late ?? 0), // no handler has run yet
      endedAt: one.status === 'pending' ? undefined : one.startedAt + one.ms,
    }));
    const inSeq = inOrder(rows, 'seq');
    if (lockEvents) await db.each(lockEvents, inSeq);
    await db.each(end, inSeq, { now });
    await db.each(addAttempt, rows);
  };
}

export function settleOperations(d: Dialect) {
  const lock = lockLanes(d);
  const settled = d.rows('seq bigint, lease text');
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

  /** The lanes whose leases are still those of the keys, by lease. Locks them. */
  const heldOf = async (db: Db, keys: readonly LeaseKey[], of: Of) => {
    const lanes = await db.each<LeasedLane>(lock, named(keys.map(({ resource }) => resource)), of);
    const seqs = new Map(keys.map(({ lease, seq }) => [lease, seq]));
    const held = lanes.filter(({ lease, seq }) => seqs.has(lease) && seqs.get(lease) === seq);
    return new Map(held.map((lane) => [lane.lease, lane]));
  };

  return {
    /**
     * Ends leases of one subscriber. A settlement changes nothing, where another process has taken the event over meanwhile.
     * @returns for each whether the lease was still the owner's, or the same settlement was stored before, and whether more of the resource is ready
     */
    async settle(db: Db, { list, subscriber, now }: Timed & { list: readonly Settling[] }) {
      const lanes = await heldOf(db, list, { subscriber });
      const held = list.flatMap((one) => {
        const lane = lanes.get(one.lease);
        return lane ? [{ ...lane, ...one }] : [];
      });
      await endStarts(db, held, now);
      const changes = held.flatMap(({ resource, state = [] }) =>
        state.map((one) => ({ subscriber, resource, ...one })),
      );
      const { kept, gone } = Object.groupBy(changes, ({ value }) => (value === null ? 'gone' : 'kept'));
      await db.each(setState, kept ?? []);
      await db.each(dropState, gone ?? [], { subscriber });
      const reminders = held.flatMap(
        ({ resource, seq: setBy, replays: replay, starts: start, reminders = [] }) =>
          reminders.map((one) => ({ ...one, resource, setBy, replay, start })),
      );
      await change(db, reminders, { subscriber, now });
      const more = await free(db, held, { subscriber });
      // The attempt is there already: this settlement was sent twice, as the answer to the first was lost.
      const others = list.filter(({ lease }) => !lanes.has(lease));
      const attempts = await db.each<{ lease: string }>(settledBefore, others);
      const before = new Set(attempts.map(({ lease }) => lease));
      return list.map(({ lease, resource }) => ({
        isHeld: lanes.has(lease) || before.has(lease),
        hasMore: lanes.has(lease) && more.has(resource),
      }));
    },

    /**
     * Stores the result of a step while its lease is the owner's, unless there is one.
     * @returns the stored result, this one or an earlier one; undefined if none is stored
     */
    async saveStep(db: Db, { name, result, ...lease }: LeaseKey & Of & DoneStep) {
      const row = { event: lease.seq, name, result };
      if ((await heldOf(db, [lease], lease)).size > 0) await db.each(addStep, [row]);
      return (await db.all<Pick<DoneStep, 'result'>>(storedStep, row))[0];
    },

    /** Deletes the state of a resource. A settlement under way may set it again. @returns how many names it had */
    deleteState: async (db: Db, lane: Lane & Of): Promise<number> => (await db.all(forget, lane)).length,
  };
}
