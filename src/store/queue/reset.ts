import type { Db, Dialect, Params } from '../dialect.ts';
import { READY } from '../schema.ts';
import type { EventId, Of, Status, StoredEvent } from '../stored.ts';
import { inOrder, type Lane, lockLanes, named, opening } from './lanes.ts';

/** A step of a verb for many events of one subscriber. */
export interface Chosen extends Of {
  readonly seqs: readonly Pick<Due, 'seq'>[];
  /** the status of the filter, or why events wait: either may have changed since they were looked up */
  readonly still: Status | StoredEvent['waiting'];
}

/** An event that becomes ready. */
export interface Due extends Lane {
  readonly seq: number;
  readonly receivedAt: number;
}

/** The replay that holds events. Its name is when wake releases them if the process of the replay does not, milliseconds since the epoch. */
export interface Held extends Of {
  readonly heldBy: number;
}

/** Makes events ready for which a condition still holds. Their lanes are opened first, so that no ready event is without one. */
export function releasing(d: Dialect, condition: string) {
  const open = opening(d);
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const bySeq = d.rows('seq bigint');
  const ready = `UPDATE events SET next_at = NULL, held_by = NULL, waiting = NULL ${bySeq.from}
    WHERE ${bySeq.is('events.seq')} AND ${condition} RETURNING events.resource`;
  return async (db: Db, events: readonly Due[], params: Params & Of): Promise<string[]> => {
    await open(db, events, params.subscriber);
    const seqs = inOrder(events, 'seq').map(({ seq }) => ({ seq }));
    if (lockEvents) await db.each(lockEvents, seqs);
    return (await db.each<Lane>(ready, seqs, params)).map(({ resource }) => resource);
  };
}

/** Locks events with their lanes. The function returns the events that no lane runs, and how many others there are. */
export function lockingIdle(d: Dialect) {
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const lock = lockLanes(d);
  const bySeq = d.rows('seq bigint');
  const found = `SELECT events.seq, resource FROM ${bySeq.beside}events
    WHERE ${bySeq.is('events.seq')} AND subscriber = $subscriber`;
  return async (db: Db, seqs: Chosen['seqs'], { subscriber }: Of) => {
    const events = await db.each<Pick<Due, 'seq' | 'resource'>>(found, seqs, { subscriber });
    const lanes = named(events.map(({ resource }) => resource));
    const locked = await db.each<{ event: number | undefined }>(lock, lanes, { subscriber });
    const running = new Set(locked.map(({ event }) => event));
    const idle = inOrder(events, 'seq').filter(({ seq }) => !running.has(seq));
    if (lockEvents) await db.each(lockEvents, idle);
    return { idle, running: events.length - idle.length };
  };
}

const IS_STILL = 'coalesce($still, events.status) IN (events.status, events.waiting)';

/** Ends pending and dead events, but for those that a lane runs. The function returns them. */
export function endingIdle(d: Dialect) {
  const lockIdle = lockingIdle(d);
  const bySeq = d.rows('seq bigint');
  const end = `UPDATE events SET status = $status, next_at = NULL, held_by = NULL, waiting = NULL, last_error = $reason,
      ended_at = $now ${bySeq.from} WHERE ${bySeq.is('events.seq')} AND events.status IN ('pending', 'dead') AND ${IS_STILL}
    RETURNING events.seq AS event, events.id, events.resource`;
  return async (db: Db, { seqs, ...how }: Chosen & { status: Status; reason: string; now: number }) => {
    const { idle } = await lockIdle(db, seqs, how);
    return db.each<Lane & { event: number; id: EventId }>(end, idle, how);
  };
}

/** What people do with many events: replays and dismissals. */
export function resetOperations(d: Dialect) {
  const makeReady = releasing(d, 'held_by = $held_by');
  const held = `SELECT seq, resource, received_at FROM events WHERE subscriber = $subscriber AND held_by = $held_by
    AND next_at = $held_by ORDER BY event_time, seq LIMIT ${WAVE}`;
  const lockIdle = lockingIdle(d);
  const bySeq = d.rows('seq bigint');
  // An event that another replay holds counts as replayed once.
  const reset = `UPDATE events SET status = 'pending', next_at = $held_by, held_by = $held_by, starts = 0, attempts = 0,
      crashes = 0, asked_at = NULL, waiting = NULL, late = NULL, last_error = NULL, ended_at = NULL,
      replays = replays + CASE WHEN held_by IS NULL THEN 1 ELSE 0 END
      ${bySeq.from} WHERE ${bySeq.is('events.seq')} AND body IS NOT NULL AND NOT (${READY}) AND ${IS_STILL}
      RETURNING events.seq AS event, events.id`;
  const endIdle = endingIdle(d);
  const byEvent = d.rows('event bigint');
  const setBy = d.rows('resource text, event bigint');
  const forgetReminders = `DELETE FROM reminders ${setBy.using} WHERE ${setBy.is('reminders.resource')} AND subscriber = $subscriber
    AND set_by = ${setBy.event}`;
  const forgetSteps = `DELETE FROM steps ${byEvent.using} WHERE ${byEvent.is('steps.event')}`;

  return {
    /**
     * Makes the oldest events ready that a replay holds, by event time. Of a resource, an event that is released later is newer, whichever
     * process releases it. @returns their resources; none after the last
     */
    release: async (db: Db, replay: Held) => makeReady(db, await db.all<Due>(held, replay), replay),

    /**
     * Resets events to pending, and holds them: if they were ready at once, one could run while a newer event of its resource still
     * counts as handled, although the replay resets that one next. Ready events stay as they are, and what a lane runs is left out.
     */
    async reset(db: Db, { seqs, still, resetSteps, heldBy, ...of }: Chosen & Held & { resetSteps: boolean }) {
      const { idle, running } = await lockIdle(db, seqs, of);
      const events = await db.each<{ event: number; id: EventId }>(reset, idle, { heldBy, still });
      if (resetSteps) await db.each(forgetSteps, events);
      return { events, running };
    },

    /** Ends pending and dead events for good, and forgets the reminders that they set, but for those that a lane runs. The next claim closes a lane with nothing ready. */
    async dismiss(db: Db, chosen: Chosen & { reason: string; now: number }) {
      const events = await endIdle(db, { ...chosen, status: 'dismissed' });
      await db.each(forgetReminders, events, { subscriber: chosen.subscriber });
      return events.map(({ id }) => id);
    },
  };
}

/** How long the reset events wait if the process ends before it makes them ready. */
export const HOLD_MS = 3_600_000;

/** How many events are woken, reset, released or dismissed in one commit. */
export const WAVE = 500;
