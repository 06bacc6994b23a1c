import type { Counted, Queries } from '../../driver-store.ts';
import type { Channel, DoneStep, Tally } from '../../event-search.ts';
import { fewKinds, MOST_KINDS, OTHER_KINDS } from '../../few-kinds.ts';
import { decoded, type Session, toTextOrNull } from '../session.ts';
import { type EventRow, type Identity, idOf, toEvent } from '../tables/rows.ts';
import { EVENT_THERE, havingStatus, NO_END, Params, placeOf, rowsOf, UNTAKEN } from './filter.ts';
import { resourceOrder } from './resource-order.ts';

type Glances = Pick<Queries, 'overview' | 'timeline' | 'channels' | 'steps'>;

/** Counts of events by kind and status: those that are kept, with what runs, and what is not in them yet, which is little. */
const TALLIES = `
  SELECT kind, status, sum(events)::bigint AS events FROM (
    SELECT kind, status, events FROM hookkit.tallies
    UNION ALL SELECT kind, 'pending', 1 FROM ${UNTAKEN}
    UNION ALL SELECT kind, change.status, change.events FROM (${havingStatus('running', new Params()).join()}) AS lane
      CROSS JOIN LATERAL (SELECT kind FROM hookkit.work WHERE work.event = lane.event OFFSET 0) AS work
      CROSS JOIN (VALUES ('running', 1), ('pending', -1)) AS change (status, events)) AS counted
  GROUP BY kind, status HAVING sum(events) > 0`;

/** The same of one kind more than are told apart: so that rows for all kinds do not come here. */
const FEW_TALLIES = `
  WITH tally AS MATERIALIZED (${TALLIES}), most AS (
    SELECT kind FROM tally GROUP BY kind ORDER BY sum(events) DESC, kind COLLATE "C" LIMIT ${MOST_KINDS})
  SELECT coalesce(most.kind, '${OTHER_KINDS}') AS kind, status, sum(events)::bigint AS events
  FROM tally LEFT JOIN most USING (kind) GROUP BY 1, 2`;

/** The first event that is pending or running is the oldest. Replayed events do not count: they are old on purpose. */
const OLDEST = `
  SELECT received_at FROM hookkit.ledger WHERE event = least(
    (SELECT min(event) FROM (SELECT event, replays FROM hookkit.work ORDER BY event LIMIT 1000) AS first WHERE replays = 0),
    (SELECT min(event) FROM ${UNTAKEN}))`;

export async function talliesOf(session: Session): Promise<Tally[]> {
  return (await session.rows<Tally>(TALLIES)).map(decoded);
}

/** The row of the overview, repeated for each tally; without any, it comes once. */
type OverviewRow = Tally & {
  oldest: number | null;
  quarantined: number | null;
  lost: number | null;
  untaken: number;
  untaken_since: number | null;
};

export function glancesOf(session: Session): Glances {
  return {
    async overview(): Promise<Counted> {
      const rows = await session.rows<OverviewRow>(
        `SELECT * FROM (
           SELECT (${OLDEST}) AS oldest,
             (SELECT entries FROM hookkit.quarantine_sums WHERE what = 'all') AS quarantined,
             (SELECT entries FROM hookkit.quarantine_sums WHERE what = 'lost') AS lost) AS whole
         CROSS JOIN (SELECT count(*) AS untaken, min(received_at) AS untaken_since FROM ${UNTAKEN}) AS behind
         LEFT JOIN (${FEW_TALLIES}) AS tally ON TRUE ORDER BY kind, status`,
      );
      return {
        tallies: fewKinds(
          rows.flatMap(({ kind, status, events }) =>
            kind === null ? [] : decoded({ kind, status, events }),
          ),
        ),
        oldestPendingAt: rows[0]?.oldest ?? undefined,
        quarantined: rows[0]?.quarantined ?? 0,
        quarantineLost: rows[0]?.lost ?? 0,
        untaken: { events: rows[0]?.untaken ?? 0, oldestAt: rows[0]?.untaken_since ?? undefined },
      };
    },

    async timeline({ id, each }) {
      const one = { resource: '(SELECT resource FROM one)', place: '(SELECT event_time, event FROM one)' };
      const rows = await rowsOf<EventRow & { was_late: true | null; is_asked: boolean }>(
        session,
        (params) => {
          const limit = params.of(each);
          return `WITH one AS MATERIALIZED (
            SELECT *, CASE WHEN late IS NULL THEN (SELECT TRUE FROM hookkit.results AS newer
              WHERE newer.resource = events.resource AND newer.event_time > events.event_time
                AND newer.status = 'handled' AND newer.handled_at < coalesce(events.handled_at, ${NO_END})
              ORDER BY newer.event_time LIMIT 1) END AS was_late
            FROM hookkit.events WHERE event = ${placeOf(id, params)}),
          place AS (
            SELECT event FROM one
            UNION ALL SELECT event FROM (${resourceOrder({ ...one, order: 'DESC', limit })}) AS older
            UNION ALL SELECT event FROM (${resourceOrder({ ...one, order: 'ASC', limit })}) AS newer)
          SELECT events.*, one.was_late, events.event = one.event AS is_asked
          FROM one CROSS JOIN place ${EVENT_THERE} ORDER BY events.event_time DESC, events.event DESC`;
        },
      );
      const asked = rows.find(({ is_asked }) => is_asked);
      // Null: it has not run yet.
      return asked && { events: rows.map(toEvent), late: asked.late ?? asked.was_late ?? false };
    },

    async channels({ state, after, limit }) {
      type Row = Omit<Channel, 'event'> & Identity & { active: number; idle: number };
      const rows = await session.rows<Row>(
        `SELECT * FROM (
           SELECT count(*) FILTER (WHERE state = 'active') AS active, count(*) FILTER (WHERE state = 'idle') AS idle
           FROM hookkit.channels) AS counts
         LEFT JOIN (
           SELECT channels.resource, channels.site_id AS "siteId", state, since, event_time, digest
           FROM hookkit.channels JOIN hookkit.ledger USING (event)
           WHERE ($1::text IS NULL OR state = $1) AND (since, channels.resource) < (
             coalesce((SELECT since FROM hookkit.channels WHERE resource = $2), ${NO_END}), coalesce($2, ''))
           ORDER BY since DESC, channels.resource DESC LIMIT $3) AS listed ON TRUE
         ORDER BY since DESC, resource DESC`,
        [state, toTextOrNull(after), limit],
      );
      return {
        counts: { active: rows[0]?.active ?? 0, idle: rows[0]?.idle ?? 0 },
        channels: rows.flatMap(({ resource, siteId, state, since, ...row }) =>
          resource === null ? [] : { ...decoded({ resource, siteId, state, since }), event: idOf(row) },
        ),
      };
    },

    async steps(id) {
      const rows = await rowsOf<DoneStep>(
        session,
        (params) =>
          `SELECT name, result FROM hookkit.steps WHERE event = ${placeOf(id, params)} ORDER BY name`,
      );
      return rows.map(decoded);
    },
  };
}
