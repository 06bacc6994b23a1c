import { z } from 'zod';
import { iso, isoOrNull } from '../../store/lists/event-json.ts';
import type { Inspected } from './endpoint.ts';

/** So many groups say what is wrong. Strangers and handlers could make thousands. */
export const MOST_GROUPS = 100;

/**
 * Dead events, and those that wait after a failure, in groups: the largest first. `error` is a first line in which * stands for what differs,
 * and a filter of that name; `next_at` is when the next of those that wait is tried again; `more` counts further groups.
 */
export async function problems({ store }: Inspected) {
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

export const channelsQuery = z.object({
  state: z.enum(['active', 'idle']).optional(),
  after: z.string().max(200).optional().describe('a channel_id'),
  limit: z.coerce.number().int().min(1).max(1000).default(200),
});

const PREFIX = 'channel:';

/** Live channels, the latest change of state first; `next` is the `after` of the next page. */
export async function channels(
  { store }: Inspected,
  { state, after, limit }: z.output<typeof channelsQuery>,
) {
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
