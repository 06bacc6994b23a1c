import { systemClock } from '../base/clock.ts';
import { sqlitePathOf } from '../base/url.ts';
import { type StoreOptions, type StoreSettings, unusable } from './engine.ts';
import { type EventStore, readerOn, type StoreReader, storeOn } from './event-store.ts';
import { openSecrets } from './secrets/vault.ts';
import { isThere } from './sqlite/file.ts';

export type { StoreOptions } from './engine.ts';

type EngineModule = typeof import('./sqlite/engine.ts');

/** The engines, by the schemes of their URLs. Without its line, the folder of one can go. */
const engines: Readonly<Record<string, () => Promise<EngineModule>>> = {
  sqlite: () => import('./sqlite/engine.ts'),
  postgres: () => import('./postgres/engine.ts'),
};

/** The engine of a DATABASE_URL. @throws KitError STORE_UNUSABLE */
export async function engineOf(url: string): Promise<EngineModule> {
  const engine = engines[url.replace(/(ql)?:.*/s, '')];
  if (engine) return engine();
  throw unusable(`DATABASE_URL must begin with ${Object.keys(engines).join(': or ')}:`);
}

/**
 * Opens the store that a DATABASE_URL names.
 * @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it
 */
export async function openStore(options: StoreOptions): Promise<EventStore> {
  const { openEngine } = await engineOf(options.DATABASE_URL);
  const engine = await openEngine(options);
  try {
    return storeOn(engine, await openSecrets(engine, options), options);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

type Work<T, S = EventStore> = (store: S) => Promise<T>;

/**
 * Opens the store that the configuration names, and closes it after the work. The server may run meanwhile.
 * @throws KitError STORE_UNUSABLE with what to do about it, also for a database that no service of this version has opened
 */
export async function withStore<T>(config: StoreSettings, work: Work<T>): Promise<T> {
  await using store = await openStore({ mustBe: 'current', ...config, clock: systemClock, threads: false });
  return await work(store);
}

/** Whether the SQLite database is there. A database server counts as there. @throws KitError STORE_UNUSABLE if it cannot be seen */
export function hasDatabase({ DATABASE_URL: url }: StoreSettings): boolean {
  const path = sqlitePathOf(url);
  return path === undefined || isThere(path);
}

/**
 * Opens the database of the configuration, but never creates one. The server may run meanwhile.
 * @throws KitError STORE_UNUSABLE if there is no database, none that this user can see, or one that no service of this version has opened
 */
export async function withDatabase<T>(config: StoreSettings, work: Work<T>): Promise<T> {
  return withStore({ ...config, mustBe: 'there' }, work);
}

/**
 * Opens the database of the configuration to read it: that needs no key, and changes nothing, the schema included.
 * @throws KitError STORE_UNUSABLE if there is no database, none that this user can see, or one that no service of this version has opened
 */
export async function withReader<T>(config: StoreSettings, work: Work<T, StoreReader>): Promise<T> {
  const { openEngine } = await engineOf(config.DATABASE_URL);
  const how = { clock: systemClock, threads: false, mustBe: 'there', readOnly: true } as const;
  await using store = readerOn(await openEngine({ ...config, ...how }));
  return await work(store);
}
