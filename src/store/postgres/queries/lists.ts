import type { Listed, ListStep, Queries } from '../../driver-store.ts';
import type { Attempt, EventFilter, Received, RunningStart } from '../../event-store.ts';
import { isOnlyOfTimes, REACH } from '../../filters.ts';
import { instanceOf } from '../../owner.ts';
import { fromText, fromTextOrNull, type Session } from '../session.ts';
import { type EventRow, toEvent } from '../tables/rows.ts';
import {
  conditionOf,
  EVENT_THERE,
  havingStatus,
  isUnfinished,
  LAST_PLACE,
  NO_END,
  namedBy,
  type Params,
  placeOf,
  rowsOf,
} from './filter.ts';
import { settledAfter } from './settled.ts';

type Lists = Pick<
  Queries,
  'event' | 'attempts' | 'running' | 'events' | 'eventsAfter' | 'receivedAfter' | 'count'
>;

export function listsOf(session: Session): Lists {
  /** The rows of a step, and where the next one begins. */
  const listed = async <R extends object, T>(
    { filter, limit }: Pick<ListStep<unknown>, 'filter' | 'limit'>,
    { columns, order, stretch }: Listing,
    toItem: (row: R) => T,
  ): Promise<Listed<T>> => {
    const rows = await rowsOf<{ next: number | null; place: number | null } & R>(
      session,
      (params) => `WITH stretch AS MATERIALIZED (${stretch(params)})
       SELECT stretch.next, found.* FROM stretch LEFT JOIN LATERAL (
         SELECT place.event AS place, ${columns} FROM (
           ${placesOf(filter, params, 'low', 'high')} ORDER BY event ${order} OFFSET 0) AS place ${EVENT_THERE}
         WHERE ${conditionOf(filter, params)} ORDER BY place.event ${order} LIMIT ${params.of(limit)}
       ) AS found ON TRUE ORDER BY found.place ${order}`,
    );
    const found = rows.flatMap((row) => (row.place === null ? [] : toItem(row)));
    return { found, next: found.length === limit ? undefined : (rows[0]?.next ?? undefined) };
  };
  return {
    async event(id) {
      const [row] = await rowsOf<EventRow>(
        session,
        (params) => `SELECT * FROM hookkit.events WHERE event = ${placeOf(id, params)}`,
      );
      return row && toEvent(row);
    },

    async attempts(id) {
      const rows = await rowsOf<AttemptColumns>(
        session,
        (params) =>
          `SELECT replay, attempt, started_at AS "startedAt", duration_ms AS "durationMs", outcome, error, instance
           FROM hookkit.attempts WHERE event = ${placeOf(id, params)} ORDER BY replay, attempt, started_at`,
      );
      return rows.map((row) => ({
        ...row,
        error: fromTextOrNull(row.error),
        instance: fromTextOrNull(row.instance),
      }));
    },

    async running(id) {
      const [row] = await rowsOf<RunningColumns>(
        session,
        (params) =>
          `SELECT owner, started_at AS "startedAt", lease_until AS "leaseUntil"
           FROM hookkit.ledger JOIN hookkit.lanes ON lanes.resource = ledger.resource AND lanes.event = ledger.event
           WHERE ledger.event = ${placeOf(id, params)}`,
      );
      if (!row) return undefined;
      const { owner, ...times } = row;
      return { ...times, instance: instanceOf(fromText(owner)) };
    },

    events(step) {
      const { filter, from, at } = step;
      const stretch = (params: Params) => {
        const newest = from === undefined ? LAST_PLACE : `${placeOf(from, params)} - 1`;
        return `SELECT low, high, nullif(low, 0) AS next
          FROM (SELECT ${at === undefined ? newest : params.of(at)}::bigint AS high OFFSET 0) AS top,
          LATERAL (SELECT ${filter.ids ? 0 : `greatest(high - ${REACH}, 0)`} AS low) AS bottom`;
      };
      return listed(step, { columns: 'events.*', order: 'DESC', stretch }, toEvent);
    },

    eventsAfter(step) {
      const { filter, from, at = from === undefined ? 0 : undefined } = step;
      const low = (params: Params) =>
        at === undefined ? `coalesce(${placeOf(from ?? '', params)}, ${NO_END})` : params.of(at);
      const stretch = (params: Params) => settledAfter(low(params), filter);
      return listed(step, { columns: 'events.*', order: 'ASC', stretch }, toEvent);
    },

    receivedAfter(step) {
      const { filter, from = 0, at = from } = step;
      const columns = 'place.received_at AS "receivedAt", place.webhook_id AS "webhookId", events.body';
      const stretch = (params: Params) => settledAfter(params.of(at), filter);
      return listed(
        step,
        { columns, order: 'ASC', stretch },
        ({ place, receivedAt, webhookId, body }: ReceivedRow): Received => ({
          ...{ place, receivedAt, webhookId: fromText(webhookId), body: fromTextOrNull(body) },
        }),
      );
    },

    async count({ filter, at = 0 }) {
      const [row] = await rowsOf<{ events: number; next: number | null }>(session, (params) => {
        const counted = (places: string, next: string) => `SELECT count(*) AS events, ${next} AS next
          FROM (${places}) AS place ${isUnfinished(filter) ? EVENT_THERE : ''} WHERE ${conditionOf(filter, params)}`;
        // Ids are look-ups, of which the caller knows the number; and the identity index alone has the times of all.
        if (filter.ids) return counted(namedBy(filter.ids, params), 'NULL');
        if (isOnlyOfTimes(filter)) return counted('TABLE hookkit.ledger', 'NULL');
        const [low, high] = [params.of(at), params.of(at + REACH)];
        const next = `CASE WHEN ${high} < ${LAST_PLACE} THEN ${high}::bigint END`;
        return counted(`${placesOf(filter, params, low, high)} OFFSET 0`, next);
      });
      return { events: row?.events ?? 0, next: row?.next ?? undefined };
    },
  };
}

/** What a list gives of a stretch of the ledger. */
interface Listing {
  readonly columns: string;
  readonly order: 'ASC' | 'DESC';
  /** gives `low`, `high` and `next`: after which event the stretch begins, with which it ends, and where the next begins */
  readonly stretch: (params: Params) => string;
}

type AttemptColumns = Omit<Attempt, 'error' | 'instance'> & {
  readonly error: string | null;
  readonly instance: string | null;
};

type RunningColumns = Omit<RunningStart, 'instance'> & { readonly owner: string };

type ReceivedRow = Omit<Received, 'body'> & { readonly body: string | null };

/** The rows of the ledger after one number and up to another among which is all that a filter takes. */
function placesOf({ ids, status }: EventFilter, params: Params, low: string, high: string): string {
  const within = `WHERE event > ${low} AND event <= ${high}`;
  if (ids) return `SELECT * FROM (${namedBy(ids, params)}) AS named ${within}`;
  if (!status) return `SELECT * FROM hookkit.ledger ${within}`;
  const those = havingStatus(status, params).join(' UNION ALL ');
  return `SELECT ledger.* FROM (SELECT event FROM (${those}) AS those ${within} OFFSET 0) AS one
    CROSS JOIN LATERAL (SELECT * FROM hookkit.ledger WHERE ledger.event = one.event OFFSET 0) AS ledger`;
}
