import type { EventFilter, EventStore } from '../../../store/event-store.ts';
import { terminal } from '../../terminal.ts';
import { pagesOf } from '../each-event.ts';
import type { Outgoing } from './outgoing.ts';

export interface DatabaseOptions {
  readonly filter: EventFilter;
  /** leaves out what came in later, as it may be what is sent here; milliseconds since the epoch */
  readonly began: number;
  /** called for each that has no body any more */
  readonly onPruned: () => void;
}

/** The events of the database that a filter means, in the order in which they were received. */
export async function* fromDatabase(
  store: Pick<EventStore, 'eventsAfter' | 'count'>,
  { filter, began, onPruned }: DatabaseOptions,
): AsyncGenerator<Outgoing> {
  const total = terminal().stderr.isTTY ? await store.count(filter) : 0;
  let read = 0;
  for await (const page of pagesOf(store, filter)) {
    for (const { id, kind, resource, siteId, eventTime, body, receivedAt, webhookId } of page) {
      if (receivedAt > began) return;
      read++;
      const share = total === 0 ? undefined : read / total;
      if (body === undefined) onPruned();
      else yield { id, kind, resource, siteId, eventTime, body, receivedAt, webhookId, share };
    }
  }
}
