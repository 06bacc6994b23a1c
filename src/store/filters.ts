import type { EventFilter } from './lists/types.ts';
import type { StoredEvent } from './stored.ts';

/** Whether an event happened within the times of a filter. One without a time, stored as 0, did not happen at any. */
export function isWithin({ eventTime }: Pick<StoredEvent, 'eventTime'>, filter: EventFilter): boolean {
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
  const isAny = filter.since === undefined && filter.until === undefined;
  return isAny || (eventTime !== 0 && eventTime >= since && eventTime < until);
}

/** The name of a resource as lists show it: `media:ID`, `channel:ID`, or `event:ID` for an event that belongs to neither. */
export const RESOURCE = /^(media|channel|event):./s;

export function isResource(text: string): boolean {
  return RESOURCE.test(text);
}
