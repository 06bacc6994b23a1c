import { KitError } from '../base/errors.ts';
import type { EngineModule, StoreOptions } from './engine.ts';
import { EventStore } from './event-store.ts';
import { openVault } from './vault.ts';

export type { StoreOptions } from './engine.ts';

/** The engines, by the schemes of their URLs. Without its line, the folder of one can go. */
const engines: Readonly<Record<string, () => Promise<EngineModule>>> = {
  sqlite: async () => (await import('./sqlite/index.ts')).sqliteEngine,
  postgres: async () => (await import('./postgres/index.ts')).postgresEngine,
};

/** The engine of a DATABASE_URL. @throws KitError STORE_UNUSABLE */
export async function engineOf(url: string): Promise<EngineModule> {
  const scheme = url.slice(0, url.indexOf(':')).replace('postgresql', 'postgres');
  const engine = Object.hasOwn(engines, scheme) ? engines[scheme] : undefined;
  if (engine) return engine();
  throw new KitError('STORE_UNUSABLE', `DATABASE_URL must begin with ${Object.keys(engines).join(': or ')}:`);
}

/**
 * Opens the store that a DATABASE_URL names.
 * @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it
 */
export async function openStore(options: StoreOptions): Promise<EventStore> {
  const { url, secretsKey } = options;
  const { openEngine, keySourceOf } = await engineOf(url);
  const key = secretsKey ?? keySourceOf(url);
  const engine = await openEngine(options);
  try {
    return new EventStore(engine, await openVault(engine, key), options);
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** What the configuration says of the store. */
export interface StoreSettings {
  readonly DATABASE_URL: string;
  readonly SECRETS_KEY?: Buffer | undefined;
  readonly DATABASE_POOL?: number;
}

/** Opens the store of a configuration. @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it */
export function openConfigured(
  config: StoreSettings,
  options: Omit<StoreOptions, 'url'>,
): Promise<EventStore> {
  const { DATABASE_URL: url, SECRETS_KEY: secretsKey, DATABASE_POOL: connections } = config;
  return openStore({ url, secretsKey, connections, ...options });
}
