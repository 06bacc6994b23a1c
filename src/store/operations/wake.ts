import type { Db, Dialect, Params } from '../dialect.ts';
import { READY } from '../schema.ts';
import type { EventId, Status } from '../stored.ts';
import { inOrder, type Lane, lanesOf, named, openLanes } from './record.ts';

/** A step of a verb for many events. */
export interface Chosen {
  readonly seqs: readonly Pick<Due, 'seq'>[];
  /** of the filter: the events may have another status since they were looked up */
  readonly status: Status | undefined;
}

/** An event that becomes ready. */
export interface Due extends Lane {
  readonly seq: number;
  readonly receivedAt: number;
}

/** The replay that holds events. Its name is when wake releases them if the process of the replay does not, milliseconds since the epoch. */
export interface Held {
  readonly heldBy: number;
}

/** How events become ready again: when their time has come, by a replay, or since their lane is missing. */
export function wakeOperations(d: Dialect) {
  const open = openLanes(d);
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const due = `SELECT seq, resource, received_at FROM events WHERE held_by IS NULL AND next_at <= ${d.now} AND crashes < 2
    ORDER BY held_by, next_at LIMIT $limit`;
  const left = `SELECT held_by FROM events WHERE held_by <= ${d.now} AND next_at IS NOT NULL ORDER BY held_by LIMIT 1`;
  const held = `SELECT seq, resource, received_at FROM events WHERE held_by = $held_by AND next_at = $held_by
    ORDER BY event_time, seq LIMIT $limit`;
  // An event that was lost twice may be what ends its process: one of these is ready or runs at a time.
  const dueSuspect = `SELECT seq, resource, received_at FROM events
    WHERE crashes >= 2 AND status = 'pending' AND next_at <= ${d.now}
      AND (SELECT seq FROM events WHERE crashes >= 2 AND status = 'pending' AND next_at IS NULL LIMIT 1) IS NULL
    ORDER BY next_at LIMIT 1`;
  const lockSuspects = d.hasLocks && `SELECT pg_advisory_xact_lock(${0x686f6f6b}, -2)`;
  const ready = (where: string) =>
    d.over(
      `UPDATE events SET next_at = NULL, held_by = NULL FROM r(seq bigint)
       WHERE events.seq = r.seq AND ${where} RETURNING events.resource`,
    );
  // In this form neither fits the index of waiting events, all of which it would go through.
  const wakeDue = ready(`coalesce(next_at, 0) BETWEEN 1 AND ${d.now}`);
  const releaseHeld = ready('held_by = $held_by');
  const stray = `SELECT resource, received_at FROM events WHERE ${READY} AND resource > $after
    ORDER BY resource, event_time LIMIT $limit`;
  const there = d.over(
    'SELECT lanes.resource FROM r(resource text), lanes WHERE lanes.resource = r.resource',
  );
  const lockLanes = d.lock('lanes', 'resource', 'resource, event');
  const found = d.over('SELECT events.seq, resource FROM r(seq bigint), events WHERE events.seq = r.seq');
  // What another replay holds counts as replayed once.
  const isStill = 'events.status = coalesce($status, events.status)';
  const reset =
    d.over(`UPDATE events SET status = 'pending', next_at = $held_by, held_by = $held_by, starts = 0, attempts = 0, crashes = 0, asked_at = NULL,
      late = NULL, last_error = NULL, ended_at = NULL,
      replays = replays + CASE WHEN held_by IS NULL THEN 1 ELSE 0 END
      FROM r(seq bigint) WHERE events.seq = r.seq AND body IS NOT NULL AND NOT (${READY}) AND ${isStill}
      RETURNING events.seq, events.id`);
  const dismiss =
    d.over(`UPDATE events SET status = 'dismissed', next_at = NULL, held_by = NULL, last_error = $reason, ended_at = $now
    FROM r(seq bigint) WHERE events.seq = r.seq AND events.status IN ('pending', 'dead') AND ${isStill} RETURNING events.id`);
  const forgetSteps = d.over('DELETE FROM steps USING r(event bigint) WHERE steps.event = r.event');

  /** Lanes are opened before their events are ready, so that nothing ready is without a lane. */
  const makeReady = async (db: Db, events: readonly Due[], sql: string, params: Params) => {
    await db.each(open, lanesOf(events));
    const seqs = inOrder(events, 'seq').map(({ seq }) => ({ seq }));
    if (lockEvents) await db.each(lockEvents, seqs);
    return (await db.each<Lane>(sql, seqs, params)).map(({ resource }) => resource);
  };

  /**
   * Makes the oldest events ready that a replay holds, by event time. Of a resource, what is released later is newer, whoever releases it.
   * @returns the resources; none after the last
   */
  const release = async (db: Db, replay: Held & { readonly limit: number }): Promise<string[]> =>
    makeReady(db, await db.all<Due>(held, replay), releaseHeld, replay);

  /** Locks events with their lanes. @returns those that no lane runs, and how many others there are */
  const lockIdle = async (db: Db, seqs: Chosen['seqs']) => {
    const events = await db.each<Pick<Due, 'seq' | 'resource'>>(found, seqs);
    const lanes = named(events.map(({ resource }) => resource));
    const locked = await db.each<{ event: number | undefined }>(lockLanes, lanes);
    const running = new Set(locked.map(({ event }) => event));
    const idle = inOrder(events, 'seq').filter(({ seq }) => !running.has(seq));
    if (lockEvents) await db.each(lockEvents, idle);
    return { idle, running: events.length - idle.length };
  };

  return {
    /** Makes ready what waited until now, and a step of what a replay was to release that did not. @returns the resources */
    async wake(db: Db, { limit, now }: { limit: number; now: number }): Promise<string[]> {
      let suspects = await db.all<Due>(dueSuspect, { now });
      if (lockSuspects && suspects.length > 0) {
        await db.all(lockSuspects);
        suspects = await db.all<Due>(dueSuspect, { now }); // another process may have made one ready
      }
      const events = [...(await db.all<Due>(due, { limit, now })), ...suspects];
      const woken = await makeReady(db, events, wakeDue, { now });
      const [replay] = await db.all<Held>(left, { now });
      return replay ? [...woken, ...(await release(db, { ...replay, limit }))] : woken;
    },

    /**
     * Opens lanes for ready events that have none, from one resource on. There should be none.
     * @returns how many, and where the next step goes on; undefined after the last
     */
    async sweep(db: Db, step: { readonly after: string; readonly limit: number }) {
      const ready = await db.all<Omit<Due, 'seq'>>(stray, step);
      const lanes = lanesOf(ready);
      const known = new Set((await db.each<Lane>(there, lanes)).map(({ resource }) => resource));
      const missing = lanes.filter(({ resource }) => !known.has(resource));
      await db.each(open, missing);
      const next = ready.length < step.limit ? undefined : ready.at(-1)?.resource;
      return { opened: missing.length, next };
    },

    /**
     * Resets events to pending, and holds them: if they were ready at once, one could run while a newer event of its resource still
     * counts as handled, although the replay resets that one next. Ready events stay as they are, and what a lane runs is left out.
     */
    async reset(db: Db, { seqs, status, resetSteps, heldBy }: Chosen & Held & { resetSteps: boolean }) {
      const { idle, running } = await lockIdle(db, seqs);
      const changed = await db.each<{ seq: number; id: EventId }>(reset, idle, { heldBy, status });
      const forgotten = resetSteps ? changed.map(({ seq }) => ({ event: seq })) : [];
      await db.each(forgetSteps, forgotten);
      return { events: changed, running };
    },

    /** Ends pending and dead events for good. What a lane runs is left out; a lane with nothing ready is closed by the next claim. */
    async dismiss(db: Db, { seqs, status, reason, now }: Chosen & { reason: string; now: number }) {
      const { idle, running } = await lockIdle(db, seqs);
      return { events: await db.each<{ id: EventId }>(dismiss, idle, { status, reason, now }), running };
    },

    release,
  };
}

/** How long the reset events wait if the process ends before it makes them ready. */
export const HOLD_MS = 3_600_000;
