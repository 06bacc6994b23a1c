import { existsSync } from 'node:fs';
import { KitError } from '../../base/errors.ts';
import type { Config } from '../../config.ts';
import { parseEventId } from '../../store/event-id.ts';
import type { EventStore, StoredEvent } from '../../store/event-store.ts';
import { line } from '../print.ts';
import { withStore } from '../with-store.ts';

/** Whether the SQLite database is there. A database server counts as there. */
export function hasDatabase({ DATABASE_URL: url }: Config): boolean {
  return !url.startsWith('sqlite:') || existsSync(url.slice('sqlite:'.length));
}

/**
 * Opens the database of the configuration, but never creates one. The server may run meanwhile.
 * @param threads whether the store works on threads of its own, so that the command goes on beside it
 * @throws KitError STORE_UNUSABLE if there is no database
 */
export async function withDatabase<T>(
  config: Config,
  work: (store: EventStore) => Promise<T>,
  options: { readonly threads?: boolean } = {},
): Promise<T> {
  if (!hasDatabase(config)) {
    throw new KitError(
      'STORE_UNUSABLE',
      `there is no database at ${config.DATABASE_URL.slice('sqlite:'.length)}: run this where the server runs, or set DATABASE_URL`,
    );
  }
  return withStore(config, work, options);
}

/** Checks an id before any database is opened. @throws KitError INPUT_INVALID if it is not the id of an event */
export function checkEventId(id: string): void {
  if (!parseEventId(id)) throw new KitError('INPUT_INVALID', `${line(id)} is not the id of an event`);
}

/** The event of an id. @throws KitError EVENT_UNKNOWN if it is not in the database */
export async function eventOf(store: Pick<EventStore, 'event'>, id: string): Promise<StoredEvent> {
  const event = await store.event(id);
  if (!event) throw new KitError('EVENT_UNKNOWN', `there is no event ${id} in this database`);
  return event;
}
