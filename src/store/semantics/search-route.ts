import type { Tally } from '../event-search.ts';
import { hasTimes, onlyKind } from '../filters.ts';
import type { EventFilter, Status } from '../stored.ts';

/** An event in the orders in which searches go. */
export interface Place {
  readonly event: number;
  readonly eventTime: number;
  readonly digest: Buffer;
}

/** Beyond every number and every time. */
const NO_END = Number.MAX_SAFE_INTEGER;

/** Before every digest. */
const NO_DIGEST = Buffer.alloc(0);

const NEWEST: Place = { event: NO_END, eventTime: NO_END, digest: NO_DIGEST };
const OLDEST: Place = { event: 0, eventTime: -NO_END, digest: NO_DIGEST };

/** Events that have something in common by which an index finds them. A database may give more than these, not fewer. */
export type Group =
  | { readonly by: 'ids'; readonly ids: readonly string[] }
  | { readonly by: 'status'; readonly status: Exclude<Status, 'handled'> }
  | { readonly by: 'kind'; readonly kind: string }
  /** what of a resource has ended or waits for a later attempt, from an event time on */
  | { readonly by: 'resource'; readonly resource: string; readonly from: number };

/** The events that a search looks at and their order: at most `reach` behind `start`. The filter may take fewer. */
export type Route = { readonly start: Place; readonly reach: number } & (
  | { readonly order: 'receipt, newest first'; readonly among: Group | undefined }
  | { readonly order: 'time of a resource, newest first'; readonly resource: string }
  /** with event times that are not before `end` if they go backwards, else before `end` */
  | {
      readonly order: 'time, newest first' | 'time, oldest first';
      /** few, to be sorted at each query; undefined: the identity index has this order of all events */
      readonly among: Group | undefined;
      readonly end: number;
    }
);

interface Search {
  readonly filter: EventFilter;
  /** the event behind which it begins */
  readonly start: Place | undefined;
  /** how many events it looks at, at most */
  readonly reach: number;
  /** how many events there are, of all kinds and statuses that the filter names */
  readonly tallies: readonly Tally[];
}

/** Whether a route depends on the tallies. */
export function needsTallies({ kind, status }: EventFilter): boolean {
  return kind !== undefined || status !== undefined;
}

/**
 * The way along which a filter finds most in the fewest steps: without one that fits, a search for a handful among millions would
 * have to look at all of them.
 */
export function newestFirst({ filter, start = NEWEST, reach, tallies }: Search): Route {
  const { resource, since = -NO_END, until } = filter;
  if (resource !== undefined) return { order: 'time of a resource, newest first', resource, start, reach };
  const groups = [ofIds(filter), ofStatus(filter, tallies), ofKind(filter, tallies)];
  const [rarest] = groups.filter((one) => one !== undefined).sort((one, other) => one.size - other.size);
  if (!hasTimes(filter)) return { order: 'receipt, newest first', among: rarest?.group, start, reach };
  const isBehind = until !== undefined && until < start.eventTime;
  return {
    order: 'time, newest first',
    among: rarest && rarest.size <= reach ? rarest.group : undefined,
    start: isBehind ? { ...start, eventTime: until, digest: NO_DIGEST } : start,
    end: since,
    reach,
  };
}

/** The same for a replay, which takes what has ended or waits. */
export function oldestFirst({ filter, start = OLDEST, reach, tallies }: Search): Route {
  const { since, until = NO_END } = filter;
  const isBehind = since !== undefined && since > start.eventTime;
  const from = isBehind ? { ...start, eventTime: since, digest: NO_DIGEST } : start;
  const groups = [
    ofIds(filter),
    ofResource(filter, from),
    ofStatus(filter, tallies),
    ofKind(filter, tallies),
  ];
  const few = groups.find((one) => one !== undefined && one.size <= reach);
  return { order: 'time, oldest first', among: few?.group, start: from, end: until, reach };
}

interface Sized {
  readonly group: Group;
  readonly size: number;
}

function ofIds({ ids }: EventFilter): Sized | undefined {
  return ids && { group: { by: 'ids', ids }, size: 0 };
}

function ofResource({ resource }: EventFilter, { eventTime: from }: Place): Sized | undefined {
  return resource === undefined ? undefined : { group: { by: 'resource', resource, from }, size: 0 };
}

/** What is handled is most of all. */
function ofStatus({ status }: EventFilter, tallies: readonly Tally[]): Sized | undefined {
  if (status === undefined || status === 'handled') return undefined;
  return { group: { by: 'status', status }, size: sizeOf(tallies, (tally) => tally.status === status) };
}

function ofKind(filter: EventFilter, tallies: readonly Tally[]): Sized | undefined {
  const kind = onlyKind(filter);
  if (kind === undefined) return undefined;
  return { group: { by: 'kind', kind }, size: sizeOf(tallies, (tally) => tally.kind === kind) };
}

/** How many events some of the tallies count. */
function sizeOf(tallies: readonly Tally[], isMeant: (tally: Tally) => boolean): number {
  return tallies.filter(isMeant).reduce((sum, { events }) => sum + events, 0);
}
