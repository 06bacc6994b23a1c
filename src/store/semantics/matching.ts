import { type EventId, eventId, parseEventId } from '../event-id.ts';
import { isWithin } from '../filters.ts';
import type { EventFilter, StoredEvent } from '../stored.ts';

/** What a filter means: whether it takes an event. The conditions of databases mean the same. */
export function matcher(filter: EventFilter): (event: StoredEvent) => boolean {
  const { status, site, resource, webhook, q } = filter;
  const ids = filter.ids && new Set(filter.ids.map(idOf));
  const kinds = filter.kind === undefined ? undefined : new Set([filter.kind].flat());
  return (event) =>
    (ids === undefined || ids.has(event.id)) &&
    (kinds === undefined || kinds.has(event.kind)) &&
    (status === undefined || event.status === status) &&
    (site === undefined || event.siteId === site) &&
    (resource === undefined || event.resource === resource) &&
    (webhook === undefined || event.webhookId === webhook) &&
    isWithin(event, filter) &&
    (q === undefined || event.body?.includes(q) === true);
}

/** Whether a replay resets an event: it is finished or waits for a later attempt, and is not pruned. */
export function isReplayable({ status, body, nextAttemptAt }: StoredEvent): boolean {
  const isFinished = status !== 'pending' && status !== 'running';
  return body !== undefined && (isFinished || nextAttemptAt !== undefined);
}

/** The id of an event as it is written, whose time may have leading zeros here; undefined if it is none. */
export function idOf(text: string): EventId | undefined {
  const parsed = parseEventId(text);
  return parsed && eventId(parsed.eventTime, parsed.first);
}
