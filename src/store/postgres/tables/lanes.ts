import type { FreeLanes, LaneTables, Lease, NewLease, Opening, Queued } from '../../driver.ts';
import { inOrder } from '../../semantics/in-order.ts';
import { headOf, LOOKED_AT, REPLAYS_FROM } from '../../semantics/lane-order.ts';
import { TIME_OF_SERVER } from '../database-clock.ts';
import type { FrontierSession } from '../frontier.ts';
import { columns, fromText, MAX_PLACE, placeOf, type Session, toText } from '../session.ts';
import { type Identity, idOf, receivedAt, type WorkColumns, workOf } from './rows.ts';

interface FreeColumns {
  resource: string;
  head: number;
}

interface LeasedColumns {
  resource: string;
  event: number;
  owner: string;
  started_at: number;
}

/**
 * Whoever changes what runs of a resource has locked its lane before, and reads its work in a later statement: that one sees
 * what was committed until the lock was given, which the statement that waited for the lock does not. Several lanes are
 * locked in the order of their names, so that two processes do not wait for each other.
 *
 * A plan that is kept may be from a time when the table was empty, and then begin with all of it. So each statement of those that
 * are prepared (see links.ts) names the keys of every table itself, or looks one up for each row (`OFFSET 0` keeps the two apart).
 * A join of what is changed with given rows, by those keys, would compare each with all.
 *
 * While an old snapshot is kept, so is all that left an index: a look along one, for an order or a condition, passes it. So
 * lanes are looked for by name, or within a range of heads or times; where nothing is waited for, the order does not matter.
 */
export function laneTables(
  session: Session,
  frontier: FrontierSession,
  onTime: (there: number) => void,
): LaneTables {
  const freeOrClose = async (resources: readonly string[]) => {
    frontier.freed(resources);
    const free = await session.rows<{ head: number }>(
      `WITH ended AS MATERIALIZED (
         SELECT resource, ${HAS_READY('asked')} AS has_ready FROM unnest($1::text[]) AS asked (resource)
       ), closed AS (
         DELETE FROM hookkit.lanes WHERE resource = ANY (ARRAY (SELECT resource FROM ended WHERE has_ready IS NULL))
       )
       UPDATE hookkit.lanes
       SET head = ${HEAD_OF_LANE}, event = NULL, owner = NULL, lease_until = NULL, started_at = NULL
       WHERE resource = ANY (ARRAY (SELECT resource FROM ended WHERE has_ready))
       RETURNING lanes.head`,
      [resources.map(toText)],
    );
    for (const { head } of free) frontier.opened(head);
  };
  /** The leases of lanes that are locked, in any order. */
  const leasesOf = (lanes: readonly LeasedColumns[], works: readonly WorkColumns[]) => {
    const byEvent = new Map(works.map((row) => [row.event, row]));
    return lanes.map((lane): Lease | undefined => {
      const work = byEvent.get(lane.event);
      return work && { ...workOf(work), owner: fromText(lane.owner), startedAt: lane.started_at };
    });
  };
  return {
    async openLanes(events) {
      // Of the events of a lane, the one whose place the lane has if it had none.
      const first = new Map<string, Opening>();
      for (const event of events) {
        frontier.opened(headOf(event));
        const other = first.get(event.resource);
        if (!other || liveFirst(event, other) < 0) first.set(event.resource, event);
      }
      // Locks each lane. What was committed while it waited for that is not seen in it, so it only brings lanes forward.
      const opened = await session.rows<{ resource: string; is_new: boolean }>(
        `INSERT INTO hookkit.lanes (resource, head)
         SELECT resource, head FROM unnest($1::text[], $2::bigint[]) AS opened (resource, head) ORDER BY resource
         ON CONFLICT (resource) DO UPDATE SET head = excluded.head WHERE excluded.head < lanes.head
         RETURNING resource, xmax = 0 AS is_new`,
        columns<Opening>(
          [...first.values()],
          ({ resource }) => toText(resource),
          (event) => headOf(event),
        ),
      );
      const made = new Set(opened.flatMap(({ resource, is_new }) => (is_new ? [resource] : [])));
      const known = [...first.keys()].map(toText).filter((resource) => !made.has(resource));
      if (known.length === 0) return;
      const moved = await session.rows<{ head: number }>(
        `UPDATE hookkit.lanes SET head = ${HEAD_OF_LANE}
         WHERE resource = ANY($1) AND ${IS_FREE} AND head <> ${HEAD_OF_LANE} RETURNING head`,
        [known],
      );
      for (const { head } of moved) frontier.opened(head);
    },
    async freeLanes(which, limit) {
      const direction = which === 'newest' ? 'DESC' : 'ASC';
      const [least, most] = which === 'replayed' ? [REPLAYS_FROM, MAX_PLACE] : [-MAX_PLACE, REPLAYS_FROM - 1];
      const { from, freed } = frontier.lookForFree(which === 'replayed' ? 'replayed' : 'live');
      const first = Math.max(least, placeOf(from));
      const [above, below] = await inOrder(
        session.rows<FreeColumns>(
          `SELECT resource, head FROM hookkit.lanes WHERE event IS NULL AND head BETWEEN $2 AND $3
           ORDER BY head ${direction}, resource ${direction} LIMIT $1 FOR UPDATE SKIP LOCKED`,
          [limit, first, most],
        ),
        freed.length > 0
          ? session.rows<FreeColumns>(
              `SELECT resource, head FROM hookkit.lanes WHERE resource = ANY($1) AND ${IS_FREE} AND head >= $2 AND head < $3
               FOR UPDATE SKIP LOCKED`,
              [freed.map(toText), least, first],
            )
          : [],
      );
      const free = inOrderOfHeads([...above, ...below], which).slice(0, limit);
      if (which !== 'newest') {
        const end = free.length < limit ? Number.POSITIVE_INFINITY : (free.at(-1)?.head ?? 0);
        frontier.foundFree(which === 'replayed' ? 'replayed' : 'live', free, end);
      }
      return free.map(({ resource }) => fromText(resource));
    },
    // Each lane is there and locked, so this adds none. Of all ways to give each row a value of its own it is the quickest: an update by
    // places asks for the length of the table for each of them.
    async lease(leases) {
      frontier.leased(leases.map(({ resource }) => toText(resource)));
      await session.rows(
        `INSERT INTO hookkit.lanes (resource, head, event, owner, lease_until, started_at)
         SELECT resource, 0, event, owner, until, started_at
         FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[])
           AS leased (resource, event, owner, until, started_at)
         ON CONFLICT (resource) DO UPDATE SET event = excluded.event, owner = excluded.owner,
           lease_until = excluded.lease_until, started_at = excluded.started_at`,
        columns<NewLease>(
          leases,
          ({ resource }) => toText(resource),
          ({ event }) => event,
          ({ owner }) => toText(owner),
          ({ until }) => until,
          ({ startedAt }) => startedAt,
        ),
      );
    },
    freeOrClose,
    async leases(asked) {
      const resources = asked.map(({ resource }) => toText(resource));
      const [lanes, works] = await inOrder(
        session.rows<LeasedColumns>(
          `SELECT resource, event, owner, started_at FROM hookkit.lanes
           WHERE resource = ANY($1) AND NOT ${IS_FREE} ORDER BY resource FOR UPDATE`,
          [resources],
        ),
        session.rows<WorkColumns>(
          `SELECT * FROM hookkit.work WHERE event = ANY (ARRAY (
             SELECT event FROM hookkit.lanes WHERE resource = ANY($1)))`,
          [resources],
        ),
      );
      const leases = leasesOf(lanes, works);
      const byResource = new Map(lanes.map((lane, index) => [lane.resource, { lane, lease: leases[index] }]));
      return asked.map(({ resource, owner }) => {
        const held = byResource.get(toText(resource));
        return held?.lane.owner === toText(owner) ? held.lease : undefined;
      });
    },
    async extendLeases(owner, until, among) {
      const rows = await session.rows<Identity & { readonly there: number }>(
        `WITH held AS MATERIALIZED (
           SELECT resource FROM hookkit.lanes WHERE ${among ? AMONG : 'event IS NOT NULL'} AND owner = $1
           ORDER BY resource FOR UPDATE
         ), extended AS (
           UPDATE hookkit.lanes SET lease_until = $2
           WHERE resource = ANY (ARRAY (SELECT resource FROM held)) AND NOT ${IS_FREE} AND owner = $1 RETURNING event
         )
         SELECT event_time, digest, ${TIME_OF_SERVER} AS there FROM hookkit.ledger
         WHERE event = ANY (ARRAY (SELECT event FROM extended))`,
        [toText(owner), until, ...(among ? [among] : [])],
      );
      for (const { there } of rows.slice(0, 1)) onTime(there);
      return rows.map(idOf);
    },
    async shortenLeases(owner, now, until) {
      await session.rows(
        `UPDATE hookkit.lanes SET lease_until = $3 WHERE resource = ANY (ARRAY (
           SELECT resource FROM hookkit.lanes
           WHERE event IS NOT NULL AND lease_until > $3 AND started_at > $2 AND owner <> $1 FOR UPDATE SKIP LOCKED))`,
        [toText(owner), now, until],
      );
    },
    async lostLeases(owner, now, has) {
      const from = placeOf(frontier.lookForLost(now));
      const lanes = await session.rows<LeasedColumns>(
        `SELECT resource, event, owner, started_at FROM hookkit.lanes
         WHERE event IS NOT NULL AND lease_until <= $2 AND lease_until > $4 AND (owner <> $1 OR event <> ALL($3::bigint[]))
         FOR UPDATE SKIP LOCKED`,
        [toText(owner), now, has, from],
      );
      if (lanes.length === 0) return [];
      const works = await session.rows<WorkColumns>('SELECT * FROM hookkit.work WHERE event = ANY($1)', [
        lanes.map(({ event }) => event),
      ]);
      const leases = leasesOf(lanes, works);
      // The database was changed by hand: what ran is gone.
      const empty = lanes.filter((_, index) => !leases[index]);
      if (empty.length > 0) await freeOrClose(empty.map(({ resource }) => fromText(resource)));
      return leases.filter((lease) => lease !== undefined).sort(inOrderOfTimes);
    },
  };
}

/** The oldest of the last events of a lane that is no replay. */
const LIVE_OF_LANE = `(SELECT ${receivedAt('last')}
  FROM (SELECT event, event_time, replays FROM hookkit.work
    WHERE work.resource = lanes.resource AND next_attempt_at IS NULL
    ORDER BY event_time DESC, event DESC LIMIT ${LOOKED_AT}) AS last
  WHERE last.replays = 0 ORDER BY last.event_time, last.event LIMIT 1)`;

/** The head of a lane; see semantics/lane-order.ts. Where it had that of a replay, no event is looked for that is none. */
const HEAD_OF_LANE = `(SELECT CASE WHEN work.replays = 0 THEN ${receivedAt('work')}
    ELSE coalesce(CASE WHEN lanes.head < ${REPLAYS_FROM} THEN ${LIVE_OF_LANE} END, ${REPLAYS_FROM} + work.event_time) END
  FROM hookkit.work
  WHERE work.resource = lanes.resource AND next_attempt_at IS NULL ORDER BY event_time, event LIMIT 1)`;

/** Whether something of the resource that a row names is ready. */
const HAS_READY = (row: string) => `(SELECT true FROM hookkit.work
  WHERE work.resource = ${row}.resource AND next_attempt_at IS NULL ORDER BY event_time, event LIMIT 1)`;

/** That a lane is free, in words of which no index knows: the lanes are looked up by their names. */
const IS_FREE = '(coalesce(event, 0) = 0)';

/** That a lane is leased for one of the events $3, which are in work as long as they run. */
const AMONG = `resource = ANY (ARRAY (SELECT resource FROM hookkit.work WHERE event = ANY($3)))
  AND coalesce(event, 0) = ANY($3::bigint[])`;

function inOrderOfTimes(one: Queued, other: Queued): number {
  return one.eventTime - other.eventTime || one.event - other.event;
}

function liveFirst(one: Opening, other: Opening): number {
  return Math.sign(one.replays) - Math.sign(other.replays) || inOrderOfTimes(one, other);
}

function inOrderOfHeads(lanes: readonly FreeColumns[], which: FreeLanes): FreeColumns[] {
  const sign = which === 'newest' ? -1 : 1;
  return lanes.toSorted(
    (one, other) => sign * (one.head - other.head || (one.resource < other.resource ? -1 : 1)),
  );
}
