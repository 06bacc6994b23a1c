import { z } from 'zod';
import { channels } from '../api/events.ts';
import type { Parts } from '../api/lookups.ts';
import { readQuery } from './page.ts';
import type { Page } from './pages.ts';

const LIMIT = 200;
const query = z.object({
  state: z.enum(['active', 'idle']).optional(),
  after: z.string().max(200).optional(),
});

/** A board of live channels. */
export function channelsPage({ store }: Pick<Parts, 'store'>): Page {
  return async (req) => {
    const { state, after } = readQuery(query, req.query);
    const found = await channels({ store }, { state, after, limit: LIMIT });
    const { next } = found;
    return {
      view: 'channels',
      title: 'Channels',
      state,
      ...found,
      nextQuery: next === null ? undefined : new URLSearchParams({ ...(state && { state }), after: next }),
    };
  };
}
