import { parseEventId } from '../../event-id.ts';
import type { EventFilter } from '../../event-store.ts';
import { hasTimes } from '../../filters.ts';

/** A condition on the view `events` and its parameters. */
export interface Condition {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** A filter as SQL; without any restriction, every event matches. */
export function conditionOf(filter: EventFilter): Condition {
  const conditions: Condition[] = [];
  const add = (value: unknown, sql: string) => {
    if (value !== undefined) conditions.push({ sql, params: [value] });
  };
  add(filter.status, 'status = ?');
  add(filter.site, 'site_id = ?');
  add(filter.resource, 'resource = ?');
  add(filter.webhook, 'webhook_id = ?');
  add(filter.since, 'event_time >= ?');
  add(filter.until, 'event_time < ?');
  if (hasTimes(filter)) conditions.push({ sql: 'event_time <> 0', params: [] });
  add(filter.q, 'instr(body, ?) > 0');
  if (filter.kind !== undefined) conditions.push(kindIn([filter.kind].flat()));
  if (filter.ids) conditions.push(anyOf(filter.ids));
  return {
    sql: conditions.map(({ sql }) => `(${sql})`).join(' AND ') || 'TRUE',
    params: conditions.flatMap(({ params }) => params),
  };
}

function kindIn(kinds: readonly string[]): Condition {
  return { sql: `kind IN (${kinds.map(() => '?').join(', ')})`, params: kinds };
}

/** Each id is one look-up in the identity index, however many there are. */
function anyOf(ids: readonly string[]): Condition {
  const ranges = ids
    .map(parseEventId)
    .filter((range) => range !== undefined)
    .map(({ eventTime, first, last }) => [eventTime, first.toString('hex'), last.toString('hex')]);
  return {
    sql: `seq IN (
      SELECT named.seq FROM json_each(?) AS id CROSS JOIN ledger AS named INDEXED BY ledger_identity
      ON named.event_time = id.value->>0 AND named.digest BETWEEN unhex(id.value->>1) AND unhex(id.value->>2))`,
    params: [JSON.stringify(ranges)],
  };
}
