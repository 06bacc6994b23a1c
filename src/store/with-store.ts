import { systemClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import { sqlitePathOf } from '../base/url.ts';
import type { EventStore } from './event-store.ts';
import { openConfigured, type StoreOptions, type StoreSettings } from './open.ts';
import { isThere, lossAt } from './sqlite/file.ts';

/** How a command uses a store; without `threads`, on the calling thread. */
type Use = Pick<StoreOptions, 'threads' | 'mustExist'>;
type Work<T> = (store: EventStore) => Promise<T>;

/**
 * Opens the store that the configuration names, and closes it after the work. The server may run meanwhile.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function withStore<T>(config: StoreSettings, work: Work<T>, use: Use = {}): Promise<T> {
  const store = await openConfigured(config, { clock: systemClock, threads: false, ...use });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Whether the SQLite database is there. A database server counts as there. @throws KitError STORE_UNUSABLE if it cannot be seen */
export function hasDatabase({ DATABASE_URL: url }: Pick<StoreSettings, 'DATABASE_URL'>): boolean {
  const path = sqlitePathOf(url);
  return path === undefined || isThere(path);
}

/**
 * Opens the database of the configuration, but never creates one. The server may run meanwhile.
 * @throws KitError STORE_UNUSABLE if there is no database, or none that this user can see
 */
export async function withDatabase<T>(config: StoreSettings, work: Work<T>, use: Use = {}): Promise<T> {
  const path = sqlitePathOf(config.DATABASE_URL) ?? '';
  if (hasDatabase(config)) return withStore(config, work, { ...use, mustExist: true });
  const missing = `there is no database at ${path}: run this where the server runs, or set DATABASE_URL`;
  throw new KitError('STORE_UNUSABLE', lossAt(path) ?? missing);
}
