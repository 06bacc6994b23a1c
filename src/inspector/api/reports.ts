import { z } from 'zod';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import { count, type Inspected, time } from './endpoint.ts';

/** So many groups say what is wrong. Strangers and handlers could make thousands. */
export const MOST_GROUPS = 100;

export const problemsAnswer = z.object({
  problems: z.array(
    z.object({
      error: z.string().describe('its first line; * stands for what differs. The filter `error` takes it'),
      kind: z.string(),
      site_id: z.string(),
      status: z.enum(['dead', 'pending']).describe('pending: it waits after a failure'),
      count,
      first_at: time.describe('when the first and the last of them were received'),
      last_at: time,
      next_at: time.nullable().describe('when the next of those that wait is tried again'),
    }),
  ),
  more: count.describe('further groups, which are smaller'),
});

/** Dead events, and those that wait after a failure, in groups: the largest first. */
export async function problems({ store }: Inspected): Promise<z.input<typeof problemsAnswer>> {
  const found = await store.problems();
  return {
    problems: found.slice(0, MOST_GROUPS).map(({ siteId, firstAt, lastAt, nextAt, ...group }) => ({
      ...group,
      site_id: siteId,
      first_at: iso(firstAt),
      last_at: iso(lastAt),
      next_at: isoOrNull(nextAt),
    })),
    more: Math.max(0, found.length - MOST_GROUPS),
  };
}

export const channelsAnswer = z.object({
  counts: z.object({ active: count, idle: count }),
  channels: z.array(
    z.object({
      channel_id: z.string(),
      site_id: z.string(),
      state: z.enum(['active', 'idle']),
      since: time.nullable(),
      event: z.string(),
    }),
  ),
  next: z.string().nullable().describe('the `after` of the next page; null at the end'),
});

export const channelsQuery = z.object({
  state: z.enum(['active', 'idle']).optional(),
  after: z.string().max(200).optional().describe('a channel_id'),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});

const PREFIX = 'channel:';

export async function channels(
  { store }: Inspected,
  { state, after, limit }: z.output<typeof channelsQuery>,
): Promise<z.input<typeof channelsAnswer>> {
  const found = await store.channels({ state, after: after && `${PREFIX}${after}`, limit });
  const list = found.channels.map(({ resource, siteId, since, event, state: now }) => ({
    channel_id: resource.slice(PREFIX.length),
    site_id: siteId,
    state: now,
    since: since === 0 ? null : iso(since),
    event,
  }));
  const next = list.length < limit ? null : (list.at(-1)?.channel_id ?? null);
  return { counts: found.counts, channels: list, next };
}
