import type { Counted, Listed, ListStep, Queries } from '../driver-store.ts';
import type {
  ChannelPage,
  Channels,
  Found,
  Picked,
  States,
  StatesQuery,
  Stretch,
  Timeline,
} from '../event-search.ts';
import type { Received } from '../event-store.ts';
import { fewKinds } from '../few-kinds.ts';
import { instanceOf } from '../owner.ts';
import { isReplayable, matcher } from '../semantics/matching.ts';
import type { ReplayQuery } from '../semantics/replay-all.ts';
import type { Attempt, EventFilter, RunningStart, StoredEvent } from '../stored.ts';
import { byIdentity, byText, type Event, type Rows } from './rows.ts';

/** The events that a filter takes, in the order of receipt. */
function matching(rows: Rows, filter: EventFilter): Event[] {
  const isMeant = matcher(filter);
  return rows.events().filter(({ stored }) => isMeant(stored));
}

function event(rows: Rows, id: string): StoredEvent | undefined {
  return rows.event(rows.placeOf(id) ?? 0)?.stored;
}

function attempts(rows: Rows, id: string): Attempt[] {
  return (rows.attempts.get(rows.placeOf(id) ?? 0) ?? []).map(({ event: _, ...attempt }) => attempt);
}

function running(rows: Rows, id: string): RunningStart | undefined {
  const place = rows.placeOf(id);
  const { lease } = rows.lanes.get(rows.ledger.get(place ?? 0)?.resource ?? '') ?? {};
  if (!lease || lease.event !== place) return undefined;
  return { startedAt: lease.startedAt, leaseUntil: lease.until, instance: instanceOf(lease.owner) };
}

function events(rows: Rows, { filter, from, limit }: ListStep<string>): StoredEvent[] {
  const end = from === undefined ? rows.ledger.size + 1 : (rows.placeOf(from) ?? 0);
  const found = matching(rows, filter).filter(({ place }) => place < end);
  return found
    .reverse()
    .slice(0, limit)
    .map(({ stored }) => stored);
}

function eventsAfter(rows: Rows, { filter, from, limit }: ListStep<string>): StoredEvent[] {
  const start = from === undefined ? 0 : (rows.placeOf(from) ?? rows.ledger.size);
  const found = matching(rows, filter).filter(({ place }) => place > start);
  return found.slice(0, limit).map(({ stored }) => stored);
}

function receivedAfter(rows: Rows, { filter, from = 0, limit }: ListStep<number>): Received[] {
  const found = matching(rows, filter).filter(({ place }) => place > from);
  return found.slice(0, limit).map(({ place, stored: { body, receivedAt, webhookId } }) => ({
    place,
    body,
    receivedAt,
    webhookId,
  }));
}

function overview(rows: Rows): Counted {
  const all = rows.events().map(({ stored }) => stored);
  const untaken = all.slice(rows.counters.get('taken') ?? 0);
  const tallies = Map.groupBy(all, ({ kind, status }) => JSON.stringify([kind, status]));
  // The one recorded first. An event that was admitted from quarantine may have been received before it.
  const oldest = all.find(
    ({ status, replays }) => replays === 0 && (status === 'pending' || status === 'running'),
  );
  return {
    tallies: fewKinds(
      [...tallies]
        .flatMap(([, [first, ...others]]) =>
          first ? [{ kind: first.kind, status: first.status, events: 1 + others.length }] : [],
        )
        .sort((one, other) => byText(one.kind, other.kind) || byText(one.status, other.status)),
    ),
    oldestPendingAt: oldest?.receivedAt,
    quarantined: rows.quarantine.size,
    quarantineLost: rows.counters.get('lost') ?? 0,
    untaken: {
      events: untaken.length,
      oldestAt: untaken.length > 0 ? Math.min(...untaken.map(({ receivedAt }) => receivedAt)) : undefined,
    },
  };
}

/** The first events that match of a stretch of sorted ones. Nothing is after an event that is not there. */
function stretched(
  sorted: readonly Event[],
  { before, reach, limit }: Stretch,
  isMeant: (event: Event) => boolean,
): { found: StoredEvent[]; next: Found['next'] } {
  const last = sorted.findIndex(({ stored }) => stored.id === before);
  if (before !== undefined && last === -1) return { found: [], next: undefined };
  const reached = sorted.slice(last + 1, last + 1 + reach);
  const found = reached
    .filter(isMeant)
    .slice(0, limit)
    .map(({ stored }) => stored);
  return { found, next: (found.length === limit ? found.at(-1) : reached[reach - 1]?.stored)?.id };
}

function search(rows: Rows, { filter, stretch }: Omit<ReplayQuery, 'upTo'>): Found {
  const { resource, since, until } = filter;
  const all = rows.events();
  if (resource !== undefined) all.sort((one, other) => one.stored.eventTime - other.stored.eventTime);
  else if (since !== undefined || until !== undefined) all.sort(byIdentity);
  const isMeant = matcher(filter);
  const { found, next } = stretched(all.reverse(), stretch, ({ stored }) => isMeant(stored));
  return { events: found, next };
}

function replayable(rows: Rows, { filter, stretch, upTo = rows.ledger.size }: ReplayQuery): Picked {
  const isMeant = matcher(filter);
  const { found, next } = stretched(
    rows.events().sort(byIdentity),
    stretch,
    ({ place, stored }) => place <= upTo && isReplayable(stored) && isMeant(stored),
  );
  return { ids: found.map(({ id }) => id), next };
}

function timeline(
  rows: Rows,
  { id, each }: { readonly id: string; readonly each: number },
): Timeline | undefined {
  const event = rows.event(rows.placeOf(id) ?? 0);
  if (!event) return undefined;
  const { resource, eventTime, handledAt = Number.POSITIVE_INFINITY } = event.stored;
  const all = matching(rows, { resource }).map(({ stored }) => stored);
  all.reverse().sort((one, other) => other.eventTime - one.eventTime);
  const index = all.findIndex((one) => one.id === event.stored.id);
  const wasLate = all.some(
    (one) =>
      one.eventTime > eventTime && one.status === 'handled' && (one.handledAt ?? handledAt) < handledAt,
  );
  return {
    events: all.slice(Math.max(0, index - each), index + each + 1),
    late: event.late ?? wasLate, // undefined while it has not run yet
  };
}

function channels(rows: Rows, { state, after, limit }: ChannelPage): Channels {
  const all = rows.channels.all();
  all.sort((one, other) => other.since - one.since || byText(other.resource, one.resource));
  const start = 1 + all.findIndex(({ resource }) => resource === after);
  const counted = (meant: 'active' | 'idle') => all.filter((channel) => channel.state === meant).length;
  return {
    counts: { active: counted('active'), idle: counted('idle') },
    channels: all
      .slice(start)
      .filter((channel) => state === undefined || channel.state === state)
      .slice(0, limit)
      .flatMap(({ event, receivedAt: _, ...channel }) => {
        const received = rows.ledger.get(event);
        return received ? [{ ...channel, event: received.id }] : [];
      }),
  };
}

function states(rows: Rows, { of, name }: StatesQuery): States {
  const values = [...rows.states.entries()]
    .filter(([resource]) => resource.startsWith(`${of}:`))
    .sort(([one], [other]) => byText(one, other))
    .flatMap(([resource, names]) => names.map((value) => ({ resource, ...value })))
    .filter((value) => name === undefined || value.name === name);
  return { values, next: undefined };
}

/** Lists are in one step each. */
const whole = <T>(found: readonly T[]): Listed<T> => ({ found, next: undefined });

export function queriesOf(rows: Rows): Queries {
  return {
    event: (id) => event(rows, id),
    attempts: (id) => attempts(rows, id),
    running: (id) => running(rows, id),
    events: (step) => whole(events(rows, step)),
    eventsAfter: (step) => whole(eventsAfter(rows, step)),
    receivedAfter: (step) => whole(receivedAfter(rows, step)),
    count: ({ filter }) => ({ events: matching(rows, filter).length, next: undefined }),
    overview: () => overview(rows),
    search: (query) => search(rows, query),
    replayable: (query) => replayable(rows, query),
    timeline: (query) => timeline(rows, query),
    channels: (page) => channels(rows, page),
    steps: (id) => rows.steps.get(rows.placeOf(id) ?? 0) ?? [],
    state: (resource) => rows.states.get(resource) ?? [],
    states: (query) => states(rows, query),
  };
}
