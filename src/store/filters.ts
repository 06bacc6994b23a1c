import type { EventFilter, StoredEvent } from './stored.ts';

/**
 * How many events one query holds against a filter, some 20 ms: one that few events match goes through all events in such steps, so that
 * it can be interrupted. As long as a query reads, the log of SQLite cannot begin anew.
 */
export const REACH = 20_000;

/** Whether a filter goes by the event time. It takes no event without one then, whose event time is stored as 0. */
export function hasTimes({ since, until }: EventFilter): boolean {
  return since !== undefined || until !== undefined;
}

/** Whether a filter goes by the event time, and by nothing else. */
export function isOnlyOfTimes({ since, until, ...others }: EventFilter): boolean {
  return hasTimes({ since, until }) && Object.values(others).every((value) => value === undefined);
}

/** Whether an event happened within the times of a filter. */
export function isWithin({ eventTime }: Pick<StoredEvent, 'eventTime'>, filter: EventFilter): boolean {
  if (!hasTimes(filter)) return true;
  const { since, until } = filter;
  const isLate = since === undefined || eventTime >= since;
  const isEarly = until === undefined || eventTime < until;
  return eventTime !== 0 && isLate && isEarly;
}

/** Whether a text names a resource as lists show it: `media:ID`, `channel:ID`, or `event:ID` for an event that belongs to neither. */
export function isResource(text: string): boolean {
  return /^(media|channel|event):./s.test(text);
}

/** The one kind that a filter takes, in whichever form; undefined if it takes several, or any. An index helps to find one. */
export function onlyKind({ kind }: EventFilter): string | undefined {
  const [first, ...others] = [kind ?? []].flat();
  return others.length === 0 ? first : undefined;
}
