import type { Db, Dialect } from '../dialect.ts';
import { OF, READY } from '../schema.ts';
import type { Claim, DeadEvent, Of, Timed } from '../stored.ts';
import { fanOutOperations } from './fan-out.ts';
import { freeing, inOrder, type Lane, type LeasedLane, opening } from './lanes.ts';
import { type Due, type Held, lockingIdle, WAVE } from './reset.ts';
import { ending, type Settling } from './settle.ts';

/** After so many crashes in a life of an event, it is dead. */
const MOST_CRASHES = 5;
const LOST = 'its process crashed, or did not renew its lease in time';

/** How long a suspect may be ready until the next one has its turn: perhaps no process has a handler for its kind. */
const SUSPECT_MS = 60_000;

/** How events of a subscriber become ready again: their time has come, their process has ended, or their lane is missing. */
export function wakeOperations(d: Dialect) {
  const open = opening(d);
  const { fanOut } = fanOutOperations(d);
  const freeLanes = freeing(d);
  const endStarts = ending(d);
  const due = `SELECT seq, resource, received_at FROM events WHERE ${OF} AND held_by IS NULL
    AND next_at <= ${d.now} AND crashes < 2 ORDER BY held_by, next_at LIMIT ${WAVE}`;
  // What a replay holds, or what those left whose time is over.
  const held = 'CAST($held_by AS bigint)';
  const left = `SELECT seq, resource, received_at FROM events WHERE ${OF} AND next_at IS NOT NULL
    AND held_by BETWEEN coalesce(${held}, 0) AND coalesce(${held}, ${d.now})
    ORDER BY held_by, next_at, event_time, seq LIMIT ${WAVE}`;
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const r = d.rows('seq bigint');
  // `coalesce` and BETWEEN keep the planner off events_waiting, which it would scan whole.
  const ready = `UPDATE events SET next_at = NULL, held_by = NULL, waiting = NULL ${r.from} WHERE ${r.is('events.seq')}
    AND coalesce(next_at, 0) BETWEEN 1 AND CASE WHEN held_by = ${held} THEN held_by ELSE ${d.now} END RETURNING events.resource`;
  // A suspect is an event that was lost twice: it may be what ends its process. One of them is ready or runs at a time, whosever it is:
  // subscribers share a process, and the one to blame would take the suspects of the others along.
  const isSuspect = "crashes >= 2 AND status = 'pending'";
  const readySuspect = `SELECT seq, subscriber, resource FROM events WHERE ${isSuspect} AND next_at IS NULL LIMIT 1`;
  const nextSuspect = `SELECT seq, resource, received_at FROM events
    WHERE ${OF} AND ${isSuspect} AND next_at <= ${d.now} AND (SELECT seq FROM (${readySuspect}) r) IS NULL
    ORDER BY next_at LIMIT 1`;
  const lockSuspects = d.hasLocks && `SELECT pg_advisory_xact_lock(${0x686f6f6b}, -2)`;
  const noteSince = `INSERT INTO meta (name, value) VALUES ('suspect_since', CAST(CAST($now AS bigint) AS text))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  const lockIdle = lockingIdle(d);
  const standBack = `UPDATE events SET next_at = ${d.now} ${r.from}
    WHERE ${r.is('events.seq')} AND ${isSuspect} AND next_at IS NULL
      AND (SELECT CAST(value AS bigint) FROM meta WHERE name = 'suspect_since') < $before`;
  const readyEvents = `SELECT resource, received_at,
    (SELECT 1 FROM lanes l WHERE l.subscriber = events.subscriber AND l.resource = events.resource) AS has_lane
    FROM events WHERE ${READY} AND ${OF} AND resource > $after ORDER BY resource, event_time LIMIT ${WAVE}`;
  const expired = `SELECT events.seq AS seq, id, events.subscriber AS subscriber, kind, events.resource AS resource,
      site_id, webhook_id, request, body, starts + 1 AS starts, attempts + 1 AS attempts, replays, crashes + 1 AS crashes,
      lease, owner, started_at, lanes.late AS late
    FROM lanes JOIN events ON events.seq = lanes.event
    WHERE lanes.${OF} AND lease IS NOT NULL AND until < ${d.now} AND NOT ${d.among('lease', 'held')}
    ORDER BY until LIMIT ${WAVE} ${d.skipLocked}`;

  /** Makes events ready whose time has still come, or that a replay still holds. Their lanes are opened first, so that none is without one. */
  const makeReady = async (db: Db, events: readonly Due[], of: Timed & Partial<Held>): Promise<string[]> => {
    await open(db, events, of.subscriber);
    const seqs = inOrder(events, 'seq').map(({ seq }) => ({ seq }));
    if (lockEvents) await db.each(lockEvents, seqs);
    return (await db.each<Lane>(ready, seqs, of)).map(({ resource }) => resource);
  };

  /** The suspect that becomes ready now, if no other one is ready. */
  const dueSuspects = async (db: Db, of: Timed): Promise<Due[]> => {
    if ((await db.all<Due>(nextSuspect, of)).length === 0) return [];
    if (lockSuspects) await db.all(lockSuspects);
    const found = await db.all<Due>(nextSuspect, of); // another process may have made one ready
    if (found.length > 0) await db.all(noteSince, of);
    return found;
  };

  return {
    /**
     * Makes events ready whose time has come, some of those that a replay holds whose process has ended, and those of the subscriber that
     * are yet to be made. @returns their resources
     */
    async wake(db: Db, of: Timed): Promise<string[]> {
      const suspects = await dueSuspects(db, of);
      const made = of.subscriber === '' ? [] : await fanOut(db, of);
      const events = [made, suspects, await db.all<Due>(due, of), await db.all<Due>(left, of)].flat();
      return made.map(({ resource }) => resource).concat(await makeReady(db, events, of));
    },

    /**
     * Makes the oldest events ready that a replay holds, by event time. Of a resource, an event that is released later is newer, whichever
     * process releases it. @returns their resources; none after the last
     */
    release: async (db: Db, replay: Timed & Held) => makeReady(db, await db.all<Due>(left, replay), replay),

    /** Where nobody has claimed the ready suspect for a minute, sets it back to waiting, behind the other suspects. */
    async passOver(db: Db, { now }: Timed): Promise<void> {
      const [suspect] = await db.all<Of & Pick<Due, 'seq' | 'resource'>>(readySuspect);
      const idle = suspect ? await lockIdle(db, [suspect], suspect) : [];
      await db.each(standBack, idle, { now, before: now - SUSPECT_MS });
    },

    /**
     * Opens lanes for ready events that have none, from one resource on. There should be none.
     * @returns how many, and where the next step goes on; undefined after the last
     */
    async openStrays(db: Db, step: Of & { readonly after: string }) {
      const events = await db.all<Omit<Due, 'seq'> & { readonly hasLane?: 1 }>(readyEvents, step);
      const strays = events.filter(({ hasLane }) => !hasLane);
      await open(db, strays, step.subscriber);
      const next = events.length < WAVE ? undefined : events.at(-1)?.resource;
      return { opened: new Set(strays.map(({ resource }) => resource)).size, next };
    },

    /**
     * Ends leases that ran out, but for those that the caller holds. A crash uses an attempt up; an event that was lost twice waits until
     * no other such one runs, and after five crashes it is dead.
     * @param held leases that the caller still counts as held, although it may have lost them
     * @returns the resources that have something ready, and what is dead
     */
    async recover(db: Db, { held, maxAttempts, ...of }: Recovery) {
      const ends = (await db.all<Lost>(expired, { ...of, held })).map(
        (event): DeadEvent & LeasedLane & Settling => {
          const isDead = event.crashes >= MOST_CRASHES || event.attempts >= maxAttempts;
          const ms = Math.max(0, of.now - event.startedAt);
          const status = isDead ? 'dead' : 'pending';
          return { ...event, status, outcome: 'lost', error: LOST, counts: true, ms };
        },
      );
      await endStarts(db, ends, of.now);
      const ready = [...(await freeLanes(db, ends, of))];
      return { ready, dead: ends.filter(({ status }) => status === 'dead') };
    },
  };
}

type Recovery = Timed & { readonly held: readonly string[]; readonly maxAttempts: number };

/** An event whose lease ran out, with its lane; this start is counted. */
type Lost = Omit<DeadEvent, 'error'> & LeasedLane & Pick<Claim, 'replays'> & { readonly crashes: number };
