import { randomUUID } from 'node:crypto';
import { slotOf } from '../../notification/kinds.ts';
import type { Db, Dialect } from '../dialect.ts';
import type { Claim, ClaimRequest, Pause, StateValue } from '../stored.ts';
import { firstReady, freeing, inOrder, isLane, type Lane, named } from './lanes.ts';
import { repeatsOf } from './lists/search.ts';

const NOT_PAUSED = "(SELECT name FROM meta WHERE name = 'paused') IS NULL";

/** How many newer events of its resource are searched for one that makes an event late. */
const NEWER = 100;

export function claimOperations(d: Dialect) {
  const freeLanes = freeing(d);
  // PostgreSQL locks the lanes, so that the statements after it read what others have committed until then.
  // `+ 0`, as SQLite plans by the value of a LIMIT, and so prepares the statement again each time one is bound: 20 µs against 5.
  const poll = (order: 'ASC' | 'DESC') => `SELECT resource FROM lanes
    WHERE subscriber = $subscriber AND lease IS NULL AND over_limit >= $least AND over_limit <= $most
    ORDER BY over_limit ${order}, ready_at ${order} LIMIT $limit + 0 ${d.skipLocked}`;
  const r = d.rows('resource text, lease text, seq bigint');
  const leaseLane = `UPDATE lanes SET lease = ${r.lease}, owner = $owner, until = ${d.now} + $lease_ms,
    started_at = $now, event = ${firstReady('seq')}
    ${r.from} WHERE ${isLane(r)} AND ${NOT_PAUSED}
    RETURNING lanes.resource, lanes.event AS seq, lanes.lease`;
  // A newer event that is being replayed too does not make it late: that one runs again after it.
  const late = `coalesce(events.late, CASE WHEN (SELECT n.seq FROM (SELECT o.seq, o.status FROM events o
      WHERE o.subscriber = events.subscriber AND o.resource = events.resource
      AND o.handled_at IS NOT NULL AND o.event_time > events.event_time
      ORDER BY o.event_time DESC, o.seq DESC LIMIT ${NEWER}) n
    WHERE n.status = 'handled' OR events.replays = 0 LIMIT 1) IS NULL THEN 0 ELSE 1 END) AS late`;
  const read = `SELECT events.seq AS seq, id, subscriber, origin, kind, events.resource AS resource, site_id, webhook_id, request,
    trace, received_at, body, starts + 1 AS starts, attempts, replays, asked_at, ${r.lease} AS lease, ${late},
    ${repeatsOf('events')} FROM ${r.beside}events WHERE ${r.is('events.seq')}`;
  const keepLate = `UPDATE lanes SET late = 1 ${r.from} WHERE ${isLane(r)}`;
  const left = `SELECT state.resource AS resource, name, value FROM ${r.beside}state
      WHERE ${r.is('state.resource')} AND state.subscriber = $subscriber
    UNION ALL SELECT reminders.resource, name, NULL FROM ${r.beside}reminders
      WHERE ${r.is('reminders.resource')} AND reminders.subscriber = $subscriber AND name <> ''`;

  const pauseClaims = `INSERT INTO meta (name, value) VALUES ('paused', $value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`;
  const resumeClaims = "DELETE FROM meta WHERE name = 'paused' RETURNING name";

  return {
    /**
     * Leases lanes, and of each its oldest ready event; none while handling is paused. A lane whose event is over a limit is set aside, with
     * the number of that limit in over_limit: polls for other kinds need not pass over it. An event that becomes ready sets it to 0 again.
     */
    async claim(db: Db, request: ClaimRequest & { now: number }) {
      const { oldest, newest, limits = [], ...lease } = request;
      const found = new Set<string>();
      const polled = async (order: 'ASC' | 'DESC', limit: number, least = 0) => {
        // The last limit takes what a process with more of them has set aside.
        const most = least < limits.length ? least : 1_000_000;
        if (limit <= 0) return;
        for (const lane of await db.all<Lane>(poll(order), { ...lease, limit, least, most }))
          found.add(lane.resource);
      };
      for (const [index, { room, newest: last }] of limits.entries()) {
        const places = Math.min(room, oldest - found.size);
        await polled('ASC', places - last, index + 1);
        await polled('DESC', Math.min(last, places), index + 1);
      }
      await polled('ASC', oldest - found.size);
      if (found.size === oldest) await polled('DESC', newest);
      const wanted = named([...found]).map((lane) => ({ ...lane, lease: randomUUID() }));
      const leased = await db.each<Lane & { readonly seq: number | undefined }>(leaseLane, wanted, lease);
      const empty = leased.filter(({ seq }) => seq === undefined);
      const rows = await db.each<ClaimRow>(read, leased);
      const over = limits.flatMap(({ kinds, room, newest: last }, index) => {
        const own = rows.filter((row) => kinds.includes(slotOf(row)));
        const first = Math.max(0, room - last);
        const rest = inOrder(own, 'receivedAt').slice(first, Math.max(0, own.length - last));
        return rest.map(({ resource }) => ({ resource, overLimit: index + 1 }));
      });
      await freeLanes(db, [...empty, ...over], lease);
      const events = rows.filter(({ resource }) => !over.some((lane) => lane.resource === resource));
      const late = events.filter((event) => event.late === 1);
      await db.each(keepLate, late, lease);
      const values = await db.each<Left>(left, events, lease);
      const leftOf = Map.groupBy(inOrder(values, 'name'), ({ resource }) => resource);
      const claims = events.map((event): Claim => {
        const own = leftOf.get(event.resource) ?? [];
        const state = own.flatMap(({ name, value }) => (value === undefined ? [] : { name, value }));
        const reminders = own.flatMap(({ name, value }) => (value === undefined ? name : []));
        return { ...event, body: event.body ?? '', late: event.late === 1, state, reminders };
      });
      return { claims, hasMore: leased.length === oldest + newest };
    },

    /** From then on no process starts a handler; those that run end. Receiving goes on. */
    async pause(db: Db, { reason, by, now }: Omit<Pause, 'since'> & { readonly now: number }): Promise<void> {
      await db.all(pauseClaims, { value: JSON.stringify({ reason, by, since: now } satisfies Pause) });
    },

    /** Handlers start again. @returns whether handling was paused */
    resume: async (db: Db): Promise<boolean> => (await db.all(resumeClaims)).length > 0,
  };
}

/** A value that events of a lane left, or the name of a reminder. */
type Left = Lane & Pick<StateValue, 'name'> & Partial<StateValue>;

type ClaimRow = Omit<Claim, 'late' | 'state' | 'reminders'> & { readonly late: number };
