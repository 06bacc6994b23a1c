import type { Db, Dialect } from '../dialect.ts';
import { READY } from '../schema.ts';
import type { Of, ReplayOptions, Status, StoredEvent } from '../stored.ts';
import { inOrder, type LeasedLane, lastOfEach, lockLanes } from './lanes.ts';

/** A step of a verb for many events of one subscriber. */
export interface Chosen extends Of {
  readonly events: readonly Pick<Due, 'seq' | 'resource'>[];
  /** the status of the filter, or why events wait: either may have changed since they were looked up */
  readonly still: Status | StoredEvent['waiting'];
}

/** An event that becomes ready. */
export type Due = Pick<StoredEvent, 'seq' | 'resource' | 'receivedAt'>;

/** The replay that holds events. Its name is when wake releases them if the process of the replay does not, milliseconds since the epoch. */
export type Held = Of & { readonly heldBy: number };

/** Locks events with their lanes. The function returns the events that no lane runs. */
export function lockingIdle(d: Dialect) {
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const lock = lockLanes(d);
  return async (db: Db, events: Chosen['events'], { subscriber }: Of) => {
    const locked = await db.each<Partial<LeasedLane>>(lock, lastOfEach(events), { subscriber });
    const running = new Set(locked.map(({ seq }) => seq));
    const idle = inOrder(events, 'seq').filter(({ seq }) => !running.has(seq));
    if (lockEvents) await db.each(lockEvents, idle);
    return idle;
  };
}

/** The verbs for many events: replays and dismissals. */
export function resetOperations(d: Dialect) {
  const lockIdle = lockingIdle(d);
  const r = d.rows('resource text, seq bigint');
  // An event that another replay holds counts as replayed once.
  const isStill = 'coalesce($still, events.status) IN (events.status, events.waiting)';
  const reset = `UPDATE events SET status = 'pending', next_at = $held_by, held_by = $held_by, starts = 0, attempts = 0,
      crashes = 0, asked_at = NULL, waiting = NULL, late = NULL, last_error = NULL, ended_at = NULL,
      replays = replays + CASE WHEN held_by IS NULL THEN 1 ELSE 0 END
      ${r.from} WHERE ${r.is('events.seq')} AND body IS NOT NULL AND NOT (${READY}) AND ${isStill}
      RETURNING events.seq, events.id`;
  const dismiss = `UPDATE events SET status = 'dismissed', next_at = NULL, held_by = NULL, waiting = NULL, last_error = $reason,
      ended_at = $now ${r.from} WHERE ${r.is('events.seq')} AND events.status IN ('pending', 'dead') AND ${isStill}
    RETURNING events.seq, events.id, events.resource`;
  const forgetReminders = `DELETE FROM reminders ${r.using} WHERE ${r.is('reminders.resource')} AND subscriber = $subscriber
    AND set_by = ${r.seq}`;
  const forgetSteps = `DELETE FROM steps ${r.using} WHERE ${r.is('steps.event', 'seq')}`;

  return {
    /**
     * Resets events to pending, and holds them: if they were ready at once, one could run while a newer event of its resource still
     * counts as handled, although the replay resets that one next. Ready events stay as they are, and what a lane runs is left out.
     */
    async reset(db: Db, { events, still, heldBy, ...how }: Resetting) {
      const idle = await lockIdle(db, events, how);
      const done = await db.each<Pick<StoredEvent, 'id' | 'seq'>>(reset, idle, { heldBy, still });
      if (how.resetSteps) await db.each(forgetSteps, done);
      return { ids: done.map(({ id }) => id), left: events.length - idle.length };
    },

    /** Ends pending and dead events for good, and forgets the reminders that they set, but for those that a lane runs. The next claim closes a lane with nothing ready. */
    async dismiss(db: Db, { events, still, reason, now, ...of }: Chosen & { reason: string; now: number }) {
      const idle = await lockIdle(db, events, of);
      const done = await db.each<Pick<StoredEvent, 'id'>>(dismiss, idle, { still, reason, now });
      await db.each(forgetReminders, done, of);
      return { ids: done.map(({ id }) => id), left: events.length - idle.length };
    },
  };
}

type Resetting = Chosen & Held & Pick<ReplayOptions, 'resetSteps'>;

/** How long the reset events wait if the process ends before it makes them ready. */
export const HOLD_MS = 3_600_000;

/** How many events are woken, reset, released or dismissed in one commit. */
export const WAVE = 500;
