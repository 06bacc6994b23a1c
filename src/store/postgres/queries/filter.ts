import { parseEventId } from '../../event-id.ts';
import type { EventFilter, Status } from '../../event-store.ts';
import { hasTimes } from '../../filters.ts';
import { type Session, toText } from '../session.ts';
import { kindKey } from '../tables/rows.ts';

/** The values of a statement, which never stand in its text. */
export class Params {
  readonly values: unknown[] = [];

  /** @returns how the statement names the value */
  of(value: unknown): string {
    return `$${this.values.push(value)}`;
  }
}

/** The rows of a statement that is written with its values. */
export function rowsOf<R>(session: Session, statement: (params: Params) => string): Promise<R[]> {
  const params = new Params();
  return session.rows<R>(statement(params), params.values);
}

/**
 * The condition of a filter on `place`, a row of the ledger, and for what is not finished on `events`, the event there; `ids`
 * is not among them. The body and the end of an event are looked up here, since the whole event costs several times as much.
 */
export function conditionOf(filter: EventFilter, params: Params): string {
  const conditions: string[] = [];
  const add = (value: unknown, sql: (name: string) => string) => {
    if (value !== undefined)
      conditions.push(sql(params.of(typeof value === 'string' ? toText(value) : value)));
  };
  add(filter.site, (site) => `place.site_id = ${site}`);
  add(filter.resource, (resource) => `place.resource = ${resource}`);
  add(filter.webhook, (webhook) => `place.webhook_id = ${webhook}`);
  add(filter.since, (since) => `place.event_time >= ${since}`);
  add(filter.until, (until) => `place.event_time < ${until}`);
  if (hasTimes(filter)) conditions.push('place.event_time <> 0');
  const kinds = filter.kind === undefined ? undefined : [filter.kind].flat().map(toText);
  add(kinds, (names) => `place.kind = ANY(${names})`);
  add(filter.status, (status) =>
    isUnfinished(filter)
      ? `events.status = ${status}`
      : `(SELECT status FROM hookkit.results WHERE results.event = place.event) = ${status}`,
  );
  add(
    filter.q,
    (q) => `(SELECT position(${q} IN body) FROM hookkit.bodies
      WHERE bodies.event = place.event AND bodies.received_at = place.received_at) > 0`,
  );
  return conditions.join(' AND ') || 'TRUE';
}

/** Whether a filter takes only events that are not finished; its condition then needs `events`. */
export function isUnfinished({ status }: EventFilter): boolean {
  return status === 'pending' || status === 'running';
}

/** Statements that together give the events of a status, and maybe others. */
export function havingStatus(status: Status, params: Params): string[] {
  // The range says nothing: the planner, if it knows no better, takes it for a short one and goes along the index of leases.
  if (status === 'running')
    return [
      `SELECT event FROM hookkit.lanes WHERE event IS NOT NULL AND lease_until BETWEEN -${NO_END} AND ${NO_END}`,
    ];
  if (status === 'pending') return ['SELECT event FROM hookkit.work', `SELECT event FROM ${UNTAKEN}`];
  const rare = status === 'handled' ? '' : "AND status <> 'handled'"; // so the index has it
  return [`SELECT event FROM hookkit.results WHERE status = ${params.of(status)} ${rare}`];
}

/** The same of a kind. */
export function havingKind(kind: string, params: Params): string[] {
  return [
    `SELECT event FROM hookkit.kinds WHERE kind = ${params.of(kindKey(toText(kind)))}`,
    `SELECT event FROM ${UNTAKEN} WHERE kind = ${params.of(toText(kind))}`,
  ];
}

/** The rows of the ledger that ids name, each once, in the order of receipt. */
export function namedBy(ids: readonly string[], params: Params): string {
  const ranges = ids.map(parseEventId).filter((range) => range !== undefined);
  const times = params.of(ranges.map(({ eventTime }) => eventTime));
  const firsts = params.of(ranges.map(({ first }) => first));
  const lasts = params.of(ranges.map(({ last }) => last));
  // Each is one look-up in the identity index, however many there are: OFFSET 0 keeps the planner from anything else.
  return `SELECT DISTINCT ON (ledger.event) ledger.*
    FROM unnest(${times}::bigint[], ${firsts}::bytea[], ${lasts}::bytea[]) AS id (event_time, first, last)
    CROSS JOIN LATERAL (SELECT * FROM hookkit.ledger
      WHERE event_time = id.event_time AND digest BETWEEN id.first AND id.last OFFSET 0) AS ledger
    ORDER BY ledger.event`;
}

/** The event of an id, as a value of a statement; null if there is none. */
export function placeOf(id: string, params: Params): string {
  const range = parseEventId(id);
  if (!range) return 'NULL::bigint';
  const { eventTime, first, last } = range;
  return `(SELECT event FROM hookkit.ledger WHERE event_time = ${params.of(eventTime)}
    AND digest BETWEEN ${params.of(first)} AND ${params.of(last)} LIMIT 1)`;
}

/** What the view `events` has of an event, but for its status. */
const MEMBERS =
  'event event_time digest kind webhook_id site_id resource received_at deliveries last_delivery_at attempts replays ' +
  'next_attempt_at handled_at last_error body interrupted late';

/**
 * Joins each `place` with its event. Each is looked up by its keys, since the planner cannot look into a subquery with OFFSET:
 * for many of them it would rather read whole tables. What is not asked of the event is not read. Nor is the lane that the view
 * joins: a planner that believes lanes to be few goes through all of them for each event. It is looked up by its name.
 */
export const EVENT_THERE = `CROSS JOIN LATERAL (
  SELECT ${MEMBERS.split(' ')
    .map((name) => `events.${name}`)
    .join(', ')},
    CASE WHEN results.event IS NOT NULL THEN results.status
      WHEN (SELECT lanes.event FROM hookkit.lanes WHERE lanes.resource = events.resource) = events.event THEN 'running'
      ELSE 'pending' END AS status
  FROM hookkit.events LEFT JOIN hookkit.results ON results.event = events.event
  WHERE events.event = place.event OFFSET 0) AS events`;

/** Up to where the ledger was taken into work. */
export const TAKEN = '(SELECT max(up_to) FROM hookkit.taken)';

/** The last place of the ledger. For `max`, PostgreSQL 14 and 15 go through a table that they believe empty. */
export const LAST_PLACE = '(SELECT event FROM hookkit.ledger ORDER BY event DESC LIMIT 1)';

/** Later than every number. A planner without statistics takes a range with two ends to be short, and goes along an index. */
export const NO_END = Number.MAX_SAFE_INTEGER;

/**
 * The rows of the ledger that are not in work yet: behind what was taken, and what was committed late below that, a handful.
 * The limit tells that to the planner.
 */
export const UNTAKEN = `(
  SELECT * FROM (
    SELECT * FROM hookkit.ledger WHERE event > ${TAKEN} AND event <= ${NO_END} ORDER BY event OFFSET 0) AS behind
  UNION ALL (SELECT late.* FROM hookkit.gaps CROSS JOIN LATERAL (
    SELECT * FROM hookkit.ledger WHERE event BETWEEN gaps.event AND gaps.last ORDER BY event OFFSET 0) AS late LIMIT 1000)
  ) AS untaken`;
