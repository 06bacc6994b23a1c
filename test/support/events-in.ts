import type { EventFilter, EventStore, StoredEvent } from '../../src/store/event-store.ts';

/** The events of a store, newest received first; of one resource by event time. */
export async function eventsIn(
  store: Pick<EventStore, 'search'>,
  filter: EventFilter = {},
  limit = 1000,
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  let after: string | undefined;
  do {
    const { events, next } = await store.search(filter, { after, limit: limit - found.length });
    found.push(...events);
    after = next;
  } while (after !== undefined && found.length < limit);
  return found;
}
