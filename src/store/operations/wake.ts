import type { Db, Dialect, Params } from '../dialect.ts';
import type { EventId } from '../event-id.ts';
import { READY } from '../schema.ts';
import type { Replayed, Status } from '../stored.ts';
import { inOrder, lanesOf, openLanes } from './record.ts';

/** An event that becomes ready. */
export interface Due {
  readonly seq: number;
  readonly resource: string;
  readonly receivedAt: number;
}

/** An event that a replay has reset. */
export interface Reset extends Due {
  readonly id: EventId;
  readonly eventTime: number;
}

export interface Resetting {
  readonly seqs: readonly number[];
  /** of the filter: the events may have another status since they were looked up */
  readonly status: Status | undefined;
  readonly resetSteps: boolean;
  /** when wake makes the events ready if the replay does not, milliseconds since the epoch: also the replay's mark on its events */
  readonly until: number;
}

/** How events become ready again: when their time has come, by a replay, or since their lane is missing. */
export function wakeOperations(d: Dialect) {
  const open = openLanes(d);
  const lockEvents = d.hasLocks && d.lock('events', 'seq', 'seq');
  const due = `SELECT seq, resource, received_at FROM events WHERE next_at <= ${d.now} AND crashes < 2 ORDER BY next_at LIMIT $limit`;
  // An event that was lost twice may be what ends its process: one of these is ready or runs at a time.
  const dueSuspect = `SELECT seq, resource, received_at FROM events
    WHERE crashes >= 2 AND status = 'pending' AND next_at <= ${d.now}
      AND (SELECT seq FROM events WHERE crashes >= 2 AND status = 'pending' AND next_at IS NULL LIMIT 1) IS NULL
    ORDER BY next_at LIMIT 1`;
  const lockSuspects = d.hasLocks && `SELECT pg_advisory_xact_lock(${0x686f6f6b}, -2)`;
  const ready = (where: string) =>
    d.over(
      `UPDATE events SET next_at = NULL FROM r(seq bigint) WHERE events.seq = r.seq AND ${where} RETURNING events.resource`,
    );
  // In this form neither fits the index of waiting events, all of which it would go through.
  const wakeDue = ready(`coalesce(next_at, 0) BETWEEN 1 AND ${d.now}`);
  const wakeHeld = ready('coalesce(next_at, 0) = $until');
  const stray = `SELECT resource, received_at FROM events WHERE ${READY} AND resource > $after ORDER BY resource, event_time LIMIT $limit`;
  const lanes = d.over(
    'SELECT lanes.resource AS resource FROM r(resource text), lanes WHERE lanes.resource = r.resource',
  );
  const lockLanes = d.lock('lanes', 'resource', 'resource, event');
  const found = d.over(
    'SELECT events.seq AS seq, resource FROM r(seq bigint), events WHERE events.seq = r.seq',
  );
  const reset = (and: string) =>
    d.over(`UPDATE events SET status = 'pending', next_at = $until, starts = 0, attempts = 0, crashes = 0, asked_at = NULL, late = NULL,
      last_error = NULL, ended_at = NULL, replays = replays + CASE WHEN next_at IS NULL OR starts > 0 THEN 1 ELSE 0 END
      FROM r(seq bigint) WHERE events.seq = r.seq AND body IS NOT NULL AND NOT (${READY})${and}
      RETURNING events.seq, events.id, events.resource, events.event_time, events.received_at`);
  const resetAny = reset('');
  const resetOf = reset(' AND status = $status');
  const forgetSteps = d.over('DELETE FROM steps USING r(event bigint) WHERE steps.event = r.event');

  /** Lanes are opened before their events are ready, so that nothing ready is without a lane. */
  const makeReady = async (
    db: Db,
    events: readonly Due[],
    sql: string,
    params: Params,
  ): Promise<string[]> => {
    await db.each(open, lanesOf(events));
    const seqs = inOrder(events, 'seq').map(({ seq }) => ({ seq }));
    if (lockEvents) await db.each(lockEvents, seqs);
    return (await db.each<{ resource: string }>(sql, seqs, params)).map(({ resource }) => resource);
  };

  return {
    /** Makes ready what waited until now. @returns the resources */
    async wake(db: Db, { limit, now }: { readonly limit: number; readonly now: number }): Promise<string[]> {
      let suspects = await db.all<Due>(dueSuspect, { now });
      if (lockSuspects && suspects.length > 0) {
        await db.all(lockSuspects);
        suspects = await db.all<Due>(dueSuspect, { now }); // another process may have made one ready
      }
      const events = [...(await db.all<Due>(due, { limit, now })), ...suspects];
      return events.length > 0 ? makeReady(db, events, wakeDue, { now }) : [];
    },

    /**
     * Opens lanes for ready events that have none, from one resource on. There should be none.
     * @returns where the next step goes on; undefined after the last
     */
    async sweep(
      db: Db,
      { after, limit }: { readonly after: string; readonly limit: number },
    ): Promise<{ readonly opened: string[]; readonly next: string | undefined }> {
      const ready = await db.all<Omit<Due, 'seq'>>(stray, { after, limit });
      const candidates = lanesOf(ready);
      const there = new Set(
        (await db.each<{ resource: string }>(lanes, candidates)).map(({ resource }) => resource),
      );
      const missing = candidates.filter(({ resource }) => !there.has(resource));
      if (missing.length > 0) await db.each(open, missing);
      const next = ready.length < limit ? undefined : ready.at(-1)?.resource;
      return { opened: missing.map(({ resource }) => resource), next };
    },

    /**
     * Resets events to pending, and holds them: if they were ready at once, one could run while a newer event of its resource still
     * counts as handled, although the replay resets that one next. Ready events stay as they are, and what a lane runs is left out.
     */
    async reset(
      db: Db,
      { seqs, status, resetSteps, until }: Resetting,
    ): Promise<{ readonly events: Reset[] } & Pick<Replayed, 'running'>> {
      const rows = seqs.map((seq) => ({ seq }));
      const events = await db.each<{ seq: number; resource: string }>(found, rows);
      const locked = await db.each<{ event: number | null }>(
        lockLanes,
        [...new Set(events.map(({ resource }) => resource))].sort().map((resource) => ({ resource })),
      );
      const running = new Set(locked.map(({ event }) => event));
      const others = events.filter(({ seq }) => !running.has(seq)).map(({ seq }) => ({ seq }));
      others.sort((one, other) => one.seq - other.seq);
      if (lockEvents) await db.each(lockEvents, others);
      const isAny = status === undefined;
      // What another replay holds counts as replayed once.
      const params = { until, status };
      const changed =
        others.length > 0 ? await db.each<Reset>(isAny ? resetAny : resetOf, others, params) : [];
      if (resetSteps && changed.length > 0)
        await db.each(
          forgetSteps,
          changed.map(({ seq }) => ({ event: seq })),
        );
      return { events: changed, running: events.length - others.length };
    },

    /** Makes events ready that a replay holds. Events that run already or changed to another replay are left. */
    release(
      db: Db,
      { events, until }: { readonly events: readonly Due[]; readonly until: number },
    ): Promise<string[]> {
      return makeReady(db, events, wakeHeld, { until });
    },
  };
}

/** How long the reset events wait if the process ends before it makes them ready. */
export const HOLD_MS = 3_600_000;
