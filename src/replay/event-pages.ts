import type { EventFilter, EventStore, StoredEvent } from '../store/event-store.ts';

/** How many events are in memory at once. */
const PAGE = 200;

/** All events that a filter takes, the oldest first, a page at a time. Memory does not grow with their number. */
export async function* pagesOf(
  store: Pick<EventStore, 'searchOldest'>,
  filter: EventFilter,
): AsyncGenerator<readonly StoredEvent[]> {
  let after: string | undefined;
  do {
    const { events, next } = await store.searchOldest(filter, { after, limit: PAGE });
    if (events.length > 0) yield events;
    after = next;
  } while (after !== undefined);
}
