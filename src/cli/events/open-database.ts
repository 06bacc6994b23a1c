import { KitError } from '../../base/errors.ts';
import { isEventId } from '../../store/event-id.ts';
import type { EventStore, StoredEvent } from '../../store/event-store.ts';
import { line } from '../print.ts';

/** Checks an id before any database is opened. @throws KitError INPUT_INVALID if it is not the id of an event */
export function checkEventId(id: string): void {
  if (!isEventId(id)) throw new KitError('INPUT_INVALID', `${line(id)} is not the id of an event`);
}

/** The event of an id. @throws KitError EVENT_UNKNOWN if it is not in the database */
export async function eventOf(store: Pick<EventStore, 'event'>, id: string): Promise<StoredEvent> {
  const event = await store.event(id);
  if (!event) throw new KitError('EVENT_UNKNOWN', `there is no event ${id} in this database`);
  return event;
}
