import type { EventFilter, StoredEvent, StoreReader } from '../../src/store/event-store.ts';

/** The events of a store, newest received first; of one resource by event time. */
export async function eventsIn(
  store: StoreReader,
  filter: EventFilter = {},
  limit = 1000,
): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  let after: string | undefined;
  do {
    const { events, next } = await store.queue.search({ filter, after, limit: limit - found.length });
    found.push(...events);
    after = next;
  } while (after !== undefined && found.length < limit);
  return found;
}
