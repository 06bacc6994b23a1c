import type { Dispatcher } from '../dispatch/dispatcher.ts';
import { isReplayable } from '../replay/dry-run.ts';
import type { EventStore } from '../store/event-store.ts';

/** How many events are handled again. */
const MOST = 20;
/** Among so many of the newest they are looked for. */
const LOOKED_AT = 200;

interface Running {
  readonly store: Pick<EventStore, 'search' | 'replay'>;
  readonly dispatcher: Pick<Dispatcher, 'wake'>;
}

/**
 * Has the last events that have ended, or that wait for a retry, handled again by the running dispatcher.
 * @param options `resetSteps` has every step of `ctx.once` run again, too
 * @returns how many
 */
export async function replayLast(
  { store, dispatcher }: Running,
  options: { readonly resetSteps?: boolean } = {},
): Promise<number> {
  const { events } = await store.search({}, { limit: LOOKED_AT });
  const ids = events
    .filter(isReplayable)
    .slice(0, MOST)
    .map(({ id }) => id);
  if (ids.length === 0) return 0;
  const { replayed } = await store.replay({ ids }, options);
  dispatcher.wake();
  return replayed;
}
