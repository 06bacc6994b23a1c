import type { EventFilter, EventStore, Received, StoredEvent, Unproven } from './event-store.ts';

/** How many events are in memory at once. */
const PAGE = 200;
const RECEIVED_PAGE = 500;

/**
 * All events that a filter takes, in the order in which they were received, a page at a time: memory does not grow with
 * their number, and a server reads and writes as usual meanwhile.
 */
export function pagesOf(
  store: Pick<EventStore, 'eventsAfter'>,
  filter: EventFilter,
): AsyncGenerator<readonly StoredEvent[]> {
  return pages(PAGE, (last) => store.eventsAfter(filter, last?.id, PAGE));
}

/** The same, but only what a recording holds of each event. */
export function receivedPagesOf(
  store: Pick<EventStore, 'receivedAfter'>,
  filter: EventFilter,
): AsyncGenerator<readonly Received[]> {
  return pages(RECEIVED_PAGE, (last) => store.receivedAfter(filter, last?.place, RECEIVED_PAGE));
}

/** The entries of the quarantine, of one webhook or all, in the order in which they came. */
export async function* unprovenPagesOf(
  store: Pick<EventStore, 'unproven'>,
  webhook: string | undefined,
): AsyncGenerator<readonly Unproven[]> {
  for (let after: number | undefined; ; ) {
    const page = await store.unproven({ webhook, after });
    if (page.length === 0) return;
    yield page;
    after = page.at(-1)?.place;
  }
}

/** @param after gives the page that follows the last one of the page before */
async function* pages<T>(
  size: number,
  after: (last: T | undefined) => Promise<readonly T[]>,
): AsyncGenerator<readonly T[]> {
  let last: T | undefined;
  for (;;) {
    const page = await after(last);
    if (page.length > 0) yield page;
    if (page.length < size) return;
    last = page.at(-1);
  }
}
