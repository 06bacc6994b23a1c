import { existsSync } from 'node:fs';
import { KitError } from '../../base/errors.ts';
import type { Config } from '../../config.ts';
import type { EventStore } from '../../store/event-store.ts';
import { withStore } from '../with-store.ts';

/** Whether there is a database to open. One that a server keeps is always taken to be there. */
export function hasDatabase({ DATABASE_URL: url }: Config): boolean {
  return !url.startsWith('sqlite:') || existsSync(url.slice('sqlite:'.length));
}

/**
 * Opens the database that the configuration names; looking at events does not make one. The server may run meanwhile.
 * @param threads whether the store works on threads of its own, so that other work goes on beside it
 * @throws KitError STORE_UNUSABLE if there is none
 */
export async function withDatabase<T>(
  config: Config,
  work: (store: EventStore) => Promise<T>,
  { threads = false } = {},
): Promise<T> {
  if (!hasDatabase(config)) {
    throw new KitError(
      'STORE_UNUSABLE',
      `there is no database at ${config.DATABASE_URL.slice('sqlite:'.length)}: run this where the server runs, or set DATABASE_URL`,
    );
  }
  return withStore(config, work, { threads });
}
