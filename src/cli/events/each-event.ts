import type { EventFilter, EventStore, StoredEvent } from '../../store/event-store.ts';

/** How many events are in memory at once. */
const PAGE = 200;

/**
 * All events that a filter means, in the order in which they were received, a page at a time: the memory that it takes
 * does not grow with their number, and the server reads and writes as ever meanwhile.
 */
export async function* pagesOf(
  store: Pick<EventStore, 'eventsAfter'>,
  filter: EventFilter,
): AsyncGenerator<readonly StoredEvent[]> {
  let after: string | undefined;
  for (;;) {
    const page = await store.eventsAfter(filter, after, PAGE);
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.id;
  }
}
