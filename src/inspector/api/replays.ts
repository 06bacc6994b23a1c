import type { AdminParts } from '../../observer.ts';
import type { EventFilter } from '../../store/event-store.ts';
import { Refused } from './endpoint.ts';

/** How many events one request puts back at most: so that it ends, and the writing thread stays free for acks. */
export const MOST = 5_000;
/** How many it looks at for them. */
const REACH = 20_000;

export type ReplayParts = Pick<AdminParts, 'store' | 'wake'>;

export interface BulkReplay {
  readonly filter: EventFilter;
  readonly before: string | undefined;
}

export interface Replayed {
  readonly events: number;
  readonly next: string | null;
}

/** Puts one event back. */
export async function replayOne(
  { store, wake }: ReplayParts,
  id: string,
  resetSteps: boolean,
): Promise<number> {
  const event = await store.event(id);
  if (!event) throw new Refused(404, 'there is no such event');
  if (event.body === undefined)
    throw new Refused(409, 'its body was removed by retention: it cannot run again');
  const replayed = await store.replay({ ids: [id] }, { resetSteps });
  if (replayed === 0) throw new Refused(409, `it is ${event.status} now: it will run without being replayed`);
  wake();
  return replayed;
}

/** How many events a bulk replay would put back. */
export async function countReplay({ store }: ReplayParts, { filter, before }: BulkReplay): Promise<Replayed> {
  const { ids, next } = await store.replayable(filter, { before, reach: REACH, limit: MOST });
  return { events: ids.length, next: next ?? null };
}

/** Puts back the newest of what matches; of these, the oldest run first. */
export async function replayAll(
  { store, wake }: ReplayParts,
  { filter, before, resetSteps }: BulkReplay & { readonly resetSteps: boolean },
): Promise<Replayed> {
  const { ids, next } = await store.replayable(filter, { before, reach: REACH, limit: MOST });
  const events = await store.replay({ ids }, { resetSteps });
  wake();
  return { events, next: next ?? null };
}
