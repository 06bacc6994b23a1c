import { systemClock } from '../base/clock.ts';
import { sqlitePathOf } from '../base/database-url.ts';
import { KitError } from '../base/errors.ts';
import type { EventStore } from './event-store.ts';
import { isThere } from './is-there.ts';
import { openStore } from './open.ts';

/** The variables of the environment that name a store. */
interface StoreSettings {
  readonly DATABASE_URL: string;
  readonly SECRETS_KEY?: Buffer | undefined;
}

/** How a command uses a store. */
interface Use {
  /** whether a SQLite database is worked with on threads of its own, so that the command goes on beside it */
  readonly threads?: boolean | undefined;
  /** of PostgreSQL: whether the command cares for the tables, as it handles very many events; without it, as `threads` says */
  readonly tidies?: boolean | undefined;
  /** of PostgreSQL: whether a database in which there is nothing of ours is refused */
  readonly mustExist?: boolean | undefined;
}

/**
 * Opens the store that the configuration names, and closes it after the work. The server may run meanwhile.
 * @throws KitError STORE_UNUSABLE with what to do about it
 */
export async function withStore<T>(
  config: StoreSettings,
  work: (store: EventStore) => Promise<T>,
  { threads = false, ...use }: Use = {},
): Promise<T> {
  const store = await openStore({
    url: config.DATABASE_URL,
    clock: systemClock,
    secretsKey: config.SECRETS_KEY,
    threads,
    ...use,
  });
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
export async function withDatabase<T>(
  config: StoreSettings,
  work: (store: EventStore) => Promise<T>,
  use: Omit<Use, 'mustExist'> = {},
): Promise<T> {
  if (!hasDatabase(config)) {
    throw new KitError(
      'STORE_UNUSABLE',
      `there is no database at ${sqlitePathOf(config.DATABASE_URL)}: run this where the server runs, or set DATABASE_URL`,
    );
  }
  return withStore(config, work, { ...use, mustExist: true });
}
