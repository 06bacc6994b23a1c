import type { Db, Dialect, Value } from '../dialect.ts';
import type { EventId } from '../event-id.ts';
import { PLACES } from '../operations/record.ts';
import { READY } from '../schema.ts';
import { COLUMNS, type EventRow, eventOf, LANES } from './rows.ts';
import type { EventFilter, Found, Received, Stretch } from './types.ts';

/**
 * How many events one query holds against a filter, some 20 ms: a filter that few events match goes through all events in such steps. As
 * long as a query reads, the log of SQLite cannot begin again.
 */
export const REACH = 20_000;

export type Order = 'newest' | 'oldest';

export interface Search {
  readonly filter: EventFilter;
  readonly stretch: Stretch;
  /** newest first: by event time where the filter has a resource, else as received */
  readonly order: Order;
  /** leaves out events that were received after the one in this place */
  readonly upTo?: number | undefined;
}

interface Plan {
  /** the events that may match, in order, as many as the search reaches */
  readonly candidates: string;
  /** what must hold of an event `e` with its lane `l` */
  readonly conditions: string;
  readonly order: string;
  readonly params: Record<string, Value>;
}

/** An event's place in an order. */
interface Place {
  readonly seq: number;
  readonly eventTime: number;
}

export function searchReads(d: Dialect) {
  const placeOf = 'SELECT seq, event_time FROM events WHERE id = $id';
  const pending = `SELECT seq, event_time FROM events WHERE ${READY} UNION ALL
    SELECT seq, event_time FROM events WHERE next_at IS NOT NULL`;

  /** Where a search begins; undefined: at the start. */
  const after = async (db: Db, { stretch }: Search): Promise<Place | undefined> => {
    if (stretch.after === undefined) return undefined;
    const [place] = await db.all<Place>(placeOf, { id: stretch.after });
    return place;
  };

  const planOf = async (db: Db, search: Search, from: Place | undefined): Promise<Plan> => {
    const { filter, order, upTo, stretch } = search;
    const [direction, beyond] = order === 'newest' ? (['DESC', '<'] as const) : (['ASC', '>'] as const);
    const reach = stretch.reach ?? REACH;
    const params: Record<string, Value> = { reach };
    const bySeq = from ? `seq ${beyond} $from` : 'true';
    if (from) params.from = from.seq;
    const conditions = conditionsOf(d, filter, params);
    if (upTo !== undefined) {
      conditions.push('e.seq <= $upto');
      params.upto = upTo;
    }
    const plan = (candidates: string, by = `e.seq ${direction}`): Plan => ({
      candidates,
      conditions: conditions.join(' AND ') || 'true',
      order: by,
      params,
    });
    const { ids, resource, status } = filter;
    const inOrder = `ORDER BY seq ${direction} LIMIT $reach`;
    if (ids !== undefined)
      return plan(`SELECT seq FROM events WHERE ${d.among('id', 'ids')} AND ${bySeq} ${inOrder}`);
    if (resource !== undefined) {
      const place = from ? `AND (event_time, seq) ${beyond} ($time, $from)` : '';
      if (from) params.time = from.eventTime;
      // Each event of a resource is in one of these three indexes.
      const part = (where: string) =>
        `SELECT * FROM (SELECT seq, event_time FROM events WHERE resource = $resource AND ${where} ${place}
          ORDER BY event_time ${direction}, seq ${direction} LIMIT $reach) p`;
      const parts = [
        'handled_at IS NOT NULL',
        `handled_at IS NULL AND NOT (${READY})`,
        `${READY} AND handled_at IS NULL`,
      ];
      const all = parts.map(part).join(' UNION ALL ');
      return plan(
        `SELECT seq FROM (${all}) c ORDER BY event_time ${direction}, seq ${direction} LIMIT $reach`,
        `e.event_time ${direction}, e.seq ${direction}`,
      );
    }
    if (status === 'dead')
      return plan(`SELECT seq FROM events WHERE status = 'dead' AND ${bySeq} ${inOrder}`);
    if (status === 'running')
      return plan(`SELECT event AS seq FROM lanes WHERE lease IS NOT NULL AND ${bySeq.replace('seq', 'event')}
      ORDER BY event ${direction} LIMIT $reach`);
    if (status === 'pending') {
      // Few of them may be anywhere among many others; many are found among the others soon.
      const few = await db.all<Place>(`SELECT seq FROM (${pending}) p LIMIT $few`, { few: reach });
      if (few.length < reach) return plan(`SELECT seq FROM (${pending}) p WHERE ${bySeq} ${inOrder}`);
    }
    return plan(`SELECT seq FROM events WHERE ${bySeq} ${inOrder}`);
  };

  /** Where the next stretch goes on. @param last what this one found last, if it found all that it may */
  const nextOf = async (
    db: Db,
    { candidates, params }: Plan,
    last: string | undefined,
  ): Promise<EventId | undefined> => {
    if (last !== undefined) return last as EventId;
    const end = `SELECT id FROM events WHERE seq = (SELECT seq FROM (${candidates}) c LIMIT 1 OFFSET $reach - 1)`;
    const [row] = await db.all<{ id: string }>(end, params);
    return row?.id as EventId | undefined;
  };

  // SQLite keeps the order of a CROSS JOIN: it would read all events, and look each up among the candidates.
  const matching = ({ candidates, conditions }: Plan, what: string) =>
    `SELECT ${what} FROM (${candidates}) c CROSS JOIN events e ${LANES} WHERE e.seq = c.seq AND ${conditions}`;

  return {
    /** The events of one stretch. */
    async search(db: Db, search: Search): Promise<Found> {
      const from = await after(db, search);
      if (search.stretch.after !== undefined && from === undefined) return { events: [], next: undefined };
      const plan = await planOf(db, search, from);
      const { limit } = search.stretch;
      const sql = `${matching(plan, COLUMNS)} ORDER BY ${plan.order} LIMIT $limit`;
      const rows = await db.all<EventRow>(sql, { ...plan.params, limit });
      const next = await nextOf(db, plan, rows.length === limit ? rows.at(-1)?.id : undefined);
      return { events: rows.map(eventOf), next };
    },

    /** How many events of one stretch match. */
    async countStretch(
      db: Db,
      search: Search,
    ): Promise<{ readonly events: number; readonly next: EventId | undefined }> {
      const plan = await planOf(db, search, await after(db, search));
      const [row] = await db.all<{ n: number }>(matching(plan, 'count(*) AS n'), plan.params);
      return { events: Number(row?.n ?? 0), next: await nextOf(db, plan, undefined) };
    },

    /** What came after a place, as it was received, in the order of receipt. */
    async received(
      db: Db,
      { filter, after: from, limit, upTo }: ReceivedQuery,
    ): Promise<{ readonly list: readonly Received[]; readonly next: number | undefined }> {
      const params: Record<string, Value> = { from, upto: upTo, limit: REACH };
      const conditions = conditionsOf(d, filter, params);
      const where = conditions.join(' AND ') || 'true';
      // The last row tells how far it looked, whether it matches or not.
      const sql = `SELECT e.seq, e.id, e.received_at, e.webhook_id, e.body, CASE WHEN ${where} THEN 1 ELSE 0 END AS matches
        FROM (SELECT * FROM events WHERE seq > $from AND seq <= $upto ORDER BY seq LIMIT $limit) e ${LANES} ORDER BY e.seq`;
      const rows = await db.all<Received & { readonly matches: number }>(sql, { ...params, limit });
      const list = rows.filter(({ matches }) => matches === 1).map(({ matches: _, ...row }) => row);
      return { list, next: rows.length === limit ? rows.at(-1)?.seq : undefined };
    },

    /**
     * The last place up to which everything is there: what commits later comes behind it.
     * Of PostgreSQL, whatever inserts events holds a lock with the last place before its own.
     */
    async lastSeq(db: Db): Promise<number> {
      if (!d.hasLocks)
        return Number(
          (await db.all<{ seq: number }>('SELECT coalesce(max(seq), 0) AS seq FROM events'))[0]?.seq,
        );
      const [last] = await db.all<{ seq: number }>(
        'SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS seq FROM events_seq_seq',
      );
      const [lowest] = await db.all<{ seq: number | null }>(
        `SELECT min(((classid::bigint & 65535) << 32) | objid::bigint) AS seq FROM pg_locks
          WHERE locktype = 'advisory' AND classid::bigint >> 16 = ${PLACES} AND objsubid = 1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      );
      return Math.min(Number(last?.seq ?? 0), lowest?.seq ?? Number.POSITIVE_INFINITY);
    },
  };
}

export interface ReceivedQuery {
  readonly filter: EventFilter;
  /** only what came after this place */
  readonly after: number;
  /** how many are looked at */
  readonly limit: number;
  readonly upTo: number;
}

/** Texts as JSON, without what PostgreSQL takes in no text: they match nothing then. */
const listOf = (texts: readonly string[]) =>
  JSON.stringify(texts.map((text) => text.toWellFormed().replaceAll('\0', '\uFFFD')));

/** What a filter asks of an event `e` with its lane `l`. It adds to the parameters. */
function conditionsOf(d: Dialect, filter: EventFilter, params: Record<string, Value>): string[] {
  const { ids, kind, status, site, resource, webhook, since, until, q } = filter;
  const conditions: string[] = [];
  const add = (condition: string, name: string, value: Value) => {
    conditions.push(condition);
    params[name] = value;
  };
  if (ids !== undefined) add(d.among('e.id', 'ids'), 'ids', listOf(ids));
  if (kind !== undefined) add(d.among('e.kind', 'kinds'), 'kinds', listOf([kind].flat()));
  if (site !== undefined) add('e.site_id = $site', 'site', site);
  if (resource !== undefined) add('e.resource = $resource', 'resource', resource);
  if (webhook !== undefined) add('e.webhook_id = $webhook', 'webhook', webhook);
  if (since !== undefined) add('e.event_time >= $since', 'since', since);
  if (until !== undefined) add('e.event_time < $until', 'until', until);
  // An event without a time did not happen at any.
  if (since !== undefined || until !== undefined) conditions.push('e.event_time <> 0');
  if (q !== undefined) add(d.contains('e.body', 'q'), 'q', q);
  if (status === 'running') conditions.push('l.lease IS NOT NULL');
  else if (status === 'pending') conditions.push("e.status = 'pending' AND l.lease IS NULL");
  else if (status !== undefined) add('e.status = $status', 'status', status);
  return conditions;
}
