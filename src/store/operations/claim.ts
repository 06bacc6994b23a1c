import { randomUUID } from 'node:crypto';
import { slotOf } from '../../notification/kinds.ts';
import type { Db, Dialect } from '../dialect.ts';
import type { Claim, ClaimRequest, DeadEvent, StateValue } from '../stored.ts';
import { inOrder, type Lane, named } from './record.ts';
import { type End, ending, firstReady, freeing, LEASED, type LeasedLane, type LeaseKey } from './settle.ts';

/** After so many crashes in a life of an event, it is dead. */
const MOST_CRASHES = 5;
const LOST = 'its process crashed, or did not renew its lease in time';

const NOT_PAUSED = "(SELECT name FROM meta WHERE name = 'paused') IS NULL";

/** How many newer events of a resource are looked at for one that makes a replayed event late. */
const NEWER = 100;

/** So much is added to ready_at of a lane that is set aside at the first limit, twice as much at the second. */
const ASIDE = 1e14;

export function claimOperations(d: Dialect) {
  const freeLanes = freeing(d);
  const endStarts = ending(d);
  // With locks, the lanes are locked first; what the later statements read is then from after that.
  // The condition may not fit lanes_free, or the planner goes through that.
  const freeNamed =
    d.hasLocks && d.lock('lanes', 'resource', 'resource', `AND coalesce(lease, '') = '' ${d.skipLocked}`);
  const poll = (order: 'ASC' | 'DESC') => `SELECT resource FROM lanes
    WHERE lease IS NULL AND ready_at >= $from AND ready_at < $end ORDER BY ready_at ${order} LIMIT $limit ${d.skipLocked}`;
  const setAside = d.over(`UPDATE lanes SET ready_at = r.ready_at FROM r(resource text, ready_at bigint)
    WHERE lanes.resource = r.resource`);
  const leaseLane =
    d.over(`UPDATE lanes SET lease = r.lease, owner = $owner, until = ${d.now} + $lease_ms, started_at = $now,
    event = ${firstReady('seq')}
    FROM r(resource text, lease text) WHERE lanes.resource = r.resource AND coalesce(lanes.lease, '') = '' AND ${NOT_PAUSED}
    RETURNING lanes.resource, lanes.event AS seq, lanes.lease`);
  // Of a replayed event, newer ones that are being replayed too do not count: they run again after it.
  const late = `coalesce(events.late, CASE WHEN (SELECT n.seq FROM (SELECT o.seq, o.status FROM events o
      WHERE o.resource = events.resource AND o.handled_at IS NOT NULL AND o.event_time > events.event_time
      ORDER BY o.event_time DESC, o.seq DESC LIMIT ${NEWER}) n
    WHERE n.status = 'handled' OR events.replays = 0 LIMIT 1) IS NULL THEN 0 ELSE 1 END) AS late`;
  const read =
    d.over(`SELECT events.seq AS seq, id, kind, resource, received_at, body, starts + 1 AS starts, attempts, replays, asked_at,
    r.lease AS lease, ${late} FROM r(seq bigint, lease text), events WHERE events.seq = r.seq`);
  const keepLate = d.over(
    'UPDATE lanes SET late = 1 FROM r(resource text) WHERE lanes.resource = r.resource',
  );
  const states = d.over(
    'SELECT state.resource AS resource, name, value FROM r(resource text), state WHERE state.resource = r.resource',
  );

  const expired = `SELECT ${LEASED} FROM lanes WHERE lease IS NOT NULL AND until < ${d.now} AND NOT ${d.among('lease', 'held')}
    ORDER BY until LIMIT $limit ${d.skipLocked}`;
  const readLost =
    d.over(`SELECT events.seq AS seq, id, kind, events.resource AS resource, body, starts + 1 AS starts, starts + 1 AS attempt,
    attempts + 1 AS attempts, replays AS replay, crashes + 1 AS crashes, r.lease AS lease, r.owner AS owner,
    r.started_at AS started_at, r.late AS late
    FROM r(seq bigint, lease text, owner text, started_at bigint, late int), events WHERE events.seq = r.seq`);
  const lock = d.hasLocks && d.lock('lanes', 'resource', 'resource');
  const renew = d.over(`UPDATE lanes SET until = ${d.now} + $lease_ms FROM r(resource text, lease text)
    WHERE lanes.resource = r.resource AND coalesce(lanes.lease, '') = r.lease RETURNING lanes.lease`);

  return {
    /**
     * Leases lanes, and of each its oldest ready event; none while handling is paused. A lane whose event is over a limit is set aside:
     * polls for other kinds need not pass over it. Each limit has a stretch of ready_at for that; whatever is told of the lane ends it.
     */
    async claim(db: Db, request: ClaimRequest & { now: number }) {
      const { names, oldest, newest, limits = [], ...lease } = request;
      const free = freeNamed ? await db.each<Lane>(freeNamed, named(names)) : named(names);
      const polled = async (order: 'ASC' | 'DESC', limit: number, stretch = 0) => {
        const end = stretch < limits.length ? (stretch + 1) * ASIDE : Number.MAX_SAFE_INTEGER;
        return limit > 0 ? db.all<Lane>(poll(order), { limit, from: stretch * ASIDE, end }) : [];
      };
      const found: Lane[] = [];
      for (const [index, { room }] of limits.entries())
        found.push(...(await polled('ASC', Math.min(room, oldest - found.length), index + 1)));
      found.push(...(await polled('ASC', oldest - found.length)), ...(await polled('DESC', newest)));
      const lanes = named([...free, ...found].map(({ resource }) => resource));
      const wanted = lanes.map((lane) => ({ ...lane, lease: randomUUID() }));
      const leased = await db.each<Lane & { readonly seq: number | undefined }>(leaseLane, wanted, lease);
      const picked = leased.filter(({ seq }) => seq !== undefined);
      const empty = leased.filter(({ seq }) => seq === undefined);
      const rows = await db.each<ClaimRow>(read, picked);
      const over = limits.flatMap(({ kinds, room }, index) => {
        const own = rows.filter(({ kind }) => kinds.includes(slotOf(kind)));
        const rest = inOrder(own, 'receivedAt').slice(Math.max(0, room));
        const begin = (index + 1) * ASIDE;
        return rest.map(({ resource, receivedAt }) => ({ resource, readyAt: begin + receivedAt }));
      });
      await freeLanes(db, [...empty, ...over]);
      await db.each(setAside, over);
      const isOver = new Set(over.map(({ resource }) => resource));
      const events = rows.filter(({ resource }) => !isOver.has(resource));
      const late = events.filter((event) => event.late === 1);
      await db.each(keepLate, late);
      const values = await db.each<StateValue & Lane>(states, events);
      const stateOf = Map.groupBy(inOrder(values, 'name'), ({ resource }) => resource);
      const claims = events.map((event): Claim => {
        const state = stateOf.get(event.resource)?.map(({ name, value }) => ({ name, value })) ?? [];
        return { ...event, body: event.body ?? '', late: event.late === 1, state };
      });
      return { claims, over: over.length };
    },

    /** Renews leases. @returns those that their owner still has */
    async renew(db: Db, { list, ...lease }: { list: readonly LeaseKey[]; leaseMs: number; now: number }) {
      const lanes = inOrder(list, 'resource');
      if (lock) await db.each(lock, lanes);
      const renewed = await db.each<{ lease: string }>(renew, lanes, lease);
      return renewed.map((one) => one.lease);
    },

    /**
     * Ends leases that ran out, but for those that the caller holds. A crash uses an attempt up; an event that was lost twice waits until
     * no other such one runs, and after five crashes it is dead. @returns the resources that have something ready, and what is dead
     */
    async recover(db: Db, { held, maxAttempts, limit, now }: Recovery & { limit: number; now: number }) {
      const lost = await db.all<LeasedLane>(expired, { limit, now, held });
      const rows = lost.map(({ event, ...lane }) => ({ ...lane, seq: event }));
      const ends = (await db.each<LostRow>(readLost, rows)).map((event) => {
        const isDead = event.crashes >= MOST_CRASHES || event.attempts >= maxAttempts;
        const end = { outcome: 'lost', error: LOST, counts: true, isCrash: true } as const;
        const ms = Math.max(0, now - event.startedAt);
        return { ...event, ...end, ms, status: isDead ? ('dead' as const) : ('pending' as const) };
      });
      await endStarts(db, ends, now);
      const ready = [...(await freeLanes(db, lost))];
      return { ready, dead: ends.filter(({ status }) => status === 'dead') };
    },
  };
}

export interface Recovery {
  /** the leases that the recovering process holds: it has what others took over, or what a failover undid, no more */
  readonly held: readonly string[];
  readonly maxAttempts: number;
}

type ClaimRow = Omit<Claim, 'late' | 'state'> & { readonly late: number };
/** An event whose lease ran out, with its lane; this start is counted. */
type LostRow = Omit<DeadEvent, 'error'> &
  Omit<LeasedLane, 'event'> &
  Pick<End, 'seq' | 'attempt' | 'replay'> & { readonly crashes: number };
