import type { EventFilter, EventStore, Received, StoredEvent } from '../../store/event-store.ts';

/** How many events are in memory at once. */
const PAGE = 200;
const RECEIVED_PAGE = 500;

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

/** The same, but only what a recording holds of them. */
export async function* receivedPagesOf(
  store: Pick<EventStore, 'receivedAfter'>,
  filter: EventFilter,
): AsyncGenerator<readonly Received[]> {
  let after: number | undefined;
  for (;;) {
    const page = await store.receivedAfter(filter, after, RECEIVED_PAGE);
    if (page.length > 0) yield page;
    if (page.length < RECEIVED_PAGE) return;
    after = page.at(-1)?.place;
  }
}
