import { parseEventId } from '../../event-id.ts';
import type { EventFilter } from '../../event-store.ts';

/** A condition on `events` and its parameters. */
export interface Condition {
  readonly sql: string;
  readonly params: readonly unknown[];
}

/** What a filter means in SQL; without any restriction, every event. */
export function conditionOf(filter: EventFilter): Condition {
  const parts: Condition[] = [];
  const add = (value: unknown, sql: string) => {
    if (value !== undefined) parts.push({ sql, params: [value] });
  };
  add(filter.kind, 'kind = ?');
  add(filter.status, 'status = ?');
  add(filter.site, 'site_id = ?');
  add(filter.resource, 'resource = ?');
  add(filter.webhook, 'webhook_id = ?');
  add(filter.since, 'event_time >= ?');
  add(filter.until, 'event_time < ?');
  add(filter.q, 'instr(body, ?) > 0');
  if (filter.ids) parts.push(anyOf(filter.ids));
  return {
    sql: parts.map(({ sql }) => `(${sql})`).join(' AND ') || 'TRUE',
    params: parts.flatMap(({ params }) => params),
  };
}

function anyOf(ids: readonly string[]): Condition {
  const ranges = ids.map(parseEventId).filter((range) => range !== undefined);
  return {
    sql: ranges.map(() => '(event_time = ? AND digest BETWEEN ? AND ?)').join(' OR ') || 'FALSE',
    params: ranges.flatMap(({ eventTime, first, last }) => [eventTime, first, last]),
  };
}
