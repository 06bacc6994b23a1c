import { parseBody } from '../notification/json.ts';
import type { EventFilter, EventStore } from '../store/event-store.ts';
import {
  type RecordedEvent,
  recordedEvent,
  type Source,
  UNTOLD,
  type Unreplayable,
} from './recorded-event.ts';

export interface DatabaseOptions {
  readonly filter: EventFilter;
  /** leaves out events received later, which may be what this replay sent; milliseconds since the epoch */
  readonly receivedBy: number;
  /** whether events tell how much of the source was read, which takes a count */
  readonly withShare?: boolean;
}

/** The events of a database that a filter takes, in the order in which they were received. */
export function databaseSource(
  store: Pick<EventStore, 'received' | 'count'>,
  options: DatabaseOptions,
): Source {
  return {
    read: (unreplayable = UNTOLD) => readDatabase(store, options, unreplayable),
    async close() {}, // the store belongs to the caller
  };
}

async function* readDatabase(
  store: Pick<EventStore, 'received' | 'count'>,
  { filter, receivedBy, withShare = false }: DatabaseOptions,
  unreplayable: Unreplayable,
): AsyncGenerator<RecordedEvent> {
  const total = withShare ? await store.count(filter) : 0;
  let read = 0;
  for await (const page of store.received(filter)) {
    for (const { body, receivedAt, webhookId } of page) {
      if (receivedAt > receivedBy) return;
      read++;
      const share = total === 0 ? undefined : read / total;
      if (body === undefined) unreplayable.pruned();
      else yield recordedEvent({ body, receivedAt, webhookId }, parseBody(Buffer.from(body)).value, share);
    }
  }
}
