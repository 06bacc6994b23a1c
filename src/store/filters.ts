import type { EventFilter } from './lists/types.ts';
import type { StoredEvent } from './stored.ts';

/** Whether an event happened within the times of a filter. One without a time, stored as 0, did not happen at any. */
export function isWithin({ eventTime }: Pick<StoredEvent, 'eventTime'>, filter: EventFilter): boolean {
  const { since, until } = filter;
  if (since === undefined && until === undefined) return true;
  const isLate = since === undefined || eventTime >= since;
  const isEarly = until === undefined || eventTime < until;
  return eventTime !== 0 && isLate && isEarly;
}

/** Whether a text names a resource as lists show it: `media:ID`, `channel:ID`, or `event:ID` for an event that belongs to neither. */
export function isResource(text: string): boolean {
  return /^(media|channel|event):./s.test(text);
}
