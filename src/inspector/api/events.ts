import type { z } from 'zod';
import { attemptJson, eventJson, eventTimeOf, iso } from '../../store/event-json.ts';
import type { EventFilter, StoredEvent } from '../../store/event-store.ts';
import type { channelsAnswer, eventDetailAnswer, eventsAnswer } from './answer-schemas.ts';
import { Refused } from './endpoint.ts';
import type { Parts } from './lookups.ts';

/** How many events a search looks at before it says how far it came: at 5 million events, well under 100 ms. */
const REACH = 20_000;
/** How many events of the same resource are shown on either side of one. */
const NEIGHBOURS = 20;

export interface ListQuery {
  readonly filter: EventFilter;
  readonly before: string | undefined;
  readonly limit: number;
}

export async function events(
  { store }: Pick<Parts, 'store'>,
  { filter, before, limit }: ListQuery,
): Promise<z.input<typeof eventsAnswer>> {
  const found = await store.search(filter, { before, limit, reach: REACH });
  return { events: found.events.map(eventJson), next: found.next ?? null };
}

export async function event(
  { store }: Pick<Parts, 'store'>,
  id: string,
): Promise<z.input<typeof eventDetailAnswer>> {
  const [found, timeline] = await Promise.all([store.event(id), store.timeline(id, NEIGHBOURS)]);
  if (!found || !timeline) throw new Refused(404, 'there is no such event');
  const [attempts, steps] = await Promise.all([store.attempts(id), store.steps(id)]);
  return {
    ...eventJson(found),
    digest: found.digest,
    late: timeline.late,
    history: attempts.map(attemptJson),
    steps: steps.map(({ name, result }) => ({ name, result: result === null ? null : JSON.parse(result) })),
    timeline: timeline.events.map(neighbour),
  };
}

function neighbour(other: StoredEvent) {
  return { id: other.id, kind: other.kind, event_time: eventTimeOf(other), status: other.status };
}

export interface ChannelsQuery {
  readonly state: 'active' | 'idle' | undefined;
  readonly after: string | undefined;
  readonly limit: number;
}

const PREFIX = 'channel:';

export async function channels(
  { store }: Pick<Parts, 'store'>,
  { state, after, limit }: ChannelsQuery,
): Promise<z.input<typeof channelsAnswer>> {
  const found = await store.channels({ state, after: after && `${PREFIX}${after}`, limit });
  const list = found.channels.map(({ resource, siteId, since, event: id, state: now }) => ({
    channel_id: resource.slice(PREFIX.length),
    site_id: siteId,
    state: now,
    since: since === 0 ? null : iso(since),
    event: id,
  }));
  return {
    counts: found.counts,
    channels: list,
    next: list.length < limit ? null : (list.at(-1)?.channel_id ?? null),
  };
}
