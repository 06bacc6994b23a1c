import type { Queries } from '../../driver-store.ts';
import type { EventId } from '../../event-id.ts';
import type { Stretch } from '../../event-search.ts';
import type { EventFilter } from '../../event-store.ts';
import { needsTallies, newestFirst, oldestFirst, type Place } from '../../semantics/search-route.ts';
import type { Session } from '../session.ts';
import { REPLAYABLE } from '../tables/resets.ts';
import { type EventRow, type Identity, idOf, toEvent } from '../tables/rows.ts';
import { candidatesOf } from './candidates.ts';
import { conditionOf, EVENT_THERE, type Params, placeOf, rowsOf } from './filter.ts';
import { talliesOf } from './glance.ts';

/** What a search finds, and in which order. */
interface Kind {
  readonly columns: string;
  readonly routeOf: typeof newestFirst;
  readonly where?: (params: Params) => string;
}

type Row<R> = R & Identity & { event: number | null; end_time: number | null; end_digest: Buffer };

export function searchesOf(session: Session): Pick<Queries, 'search' | 'replayable'> {
  /** The first events that match, among as many as the stretch reaches. */
  const find = async <R extends Identity>(
    filter: EventFilter,
    { before, reach, limit }: Stretch,
    { columns, routeOf, where = () => 'TRUE' }: Kind,
  ): Promise<{ readonly rows: R[]; readonly next: EventId | undefined }> => {
    const start = before === undefined ? undefined : await startOf(session, before);
    if (before !== undefined && !start) return { rows: [], next: undefined };
    const tallies = needsTallies(filter) ? await talliesOf(session) : [];
    const route = routeOf({ filter, start, reach, tallies });
    const all = await rowsOf<Row<R>>(session, (params) => {
      const { sql, order } = candidatesOf(route, params);
      const most = params.of(limit);
      const candidateOrder = order.replaceAll(/\w+ (?=ASC|DESC)/g, 'candidate.$&');
      // Where fewer were found than may be, the search went through to its last candidate.
      return `WITH found AS MATERIALIZED (
          SELECT ${columns} FROM (${sql}) AS candidate
          CROSS JOIN LATERAL (SELECT * FROM hookkit.ledger WHERE ledger.event = candidate.event OFFSET 0) AS place
          ${EVENT_THERE}
          WHERE ${conditionOf(filter, params)} AND ${where(params)} ORDER BY ${candidateOrder} LIMIT ${most}),
        reached AS (
          SELECT event_time AS end_time, digest AS end_digest FROM hookkit.ledger WHERE event = (
            SELECT event FROM (${sql}) AS candidate WHERE (SELECT count(*) FROM found) < ${most}
            LIMIT 1 OFFSET ${params.of(reach - 1)}))
        SELECT * FROM (SELECT) AS one LEFT JOIN reached ON TRUE LEFT JOIN found ON TRUE ORDER BY ${order}`;
    });
    const rows = all.filter(({ event }) => event !== null);
    const [end] = all;
    const last =
      rows.length === limit
        ? rows.at(-1)
        : end && end.end_time !== null && { event_time: end.end_time, digest: end.end_digest };
    return { rows, next: last ? idOf(last) : undefined };
  };
  return {
    async search({ filter, stretch }) {
      const kind = { columns: 'events.*', routeOf: newestFirst };
      const { rows, next } = await find<EventRow>(filter, stretch, kind);
      return { events: rows.map(toEvent), next };
    },
    async replayable({ filter, stretch, upTo = Number.MAX_SAFE_INTEGER }) {
      const columns = 'events.event, events.event_time, events.digest';
      const where = (params: Params) => `${REPLAYABLE} AND events.event <= ${params.of(upTo)}`;
      const kind = { columns, routeOf: oldestFirst, where };
      const { rows, next } = await find<Identity>(filter, stretch, kind);
      return { ids: rows.map(idOf), next };
    },
  };
}

async function startOf(session: Session, id: string): Promise<Place | undefined> {
  const [start] = await rowsOf<Place>(
    session,
    (params) =>
      `SELECT event, event_time AS "eventTime", digest FROM hookkit.ledger WHERE event = ${placeOf(id, params)}`,
  );
  return start;
}
