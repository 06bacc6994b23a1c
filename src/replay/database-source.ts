import type { EventFilter, EventStore, Received, StoredEvent } from '../store/event-store.ts';
import { type RecordedEvent, type Source, UNTOLD, type Unreplayable } from './recorded-event.ts';

/** How many events are in memory at once. */
const PAGE = 200;
const RECEIVED_PAGE = 500;

export interface DatabaseOptions {
  readonly filter: EventFilter;
  /** leaves out events received later, which may be what this replay sent; milliseconds since the epoch */
  readonly receivedBy: number;
  /** whether events tell how much of the source was read, which takes a count */
  readonly withShare?: boolean;
}

/** The events of a database that a filter takes, in the order in which they were received. */
export function databaseSource(
  store: Pick<EventStore, 'eventsAfter' | 'count'>,
  options: DatabaseOptions,
): Source {
  return {
    read: (unreplayable = UNTOLD) => readDatabase(store, options, unreplayable),
    async close() {}, // the store belongs to the caller
  };
}

async function* readDatabase(
  store: Pick<EventStore, 'eventsAfter' | 'count'>,
  { filter, receivedBy, withShare = false }: DatabaseOptions,
  unreplayable: Unreplayable,
): AsyncGenerator<RecordedEvent> {
  const total = withShare ? await store.count(filter) : 0;
  let read = 0;
  for await (const page of pagesOf(store, filter)) {
    for (const { id, kind, resource, siteId, eventTime, body, receivedAt, webhookId } of page) {
      if (receivedAt > receivedBy) return;
      read++;
      const share = total === 0 ? undefined : read / total;
      if (body === undefined) unreplayable.pruned();
      else yield { id, kind, resource, siteId, eventTime, body, receivedAt, webhookId, share };
    }
  }
}

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
