import type { MonotonicClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { Checks, EngineModule, ToCheck } from './engine.ts';
import { EventStore } from './event-store.ts';
import { givenKey } from './key-file.ts';
import { Vault } from './vault.ts';

export interface StoreOptions {
  /** `sqlite:PATH`, or `postgres://USER@HOST:PORT/DATABASE`; `sqlite::memory:` for tests of handlers */
  readonly url: string;
  readonly clock: MonotonicClock;
  /** 32 bytes */
  readonly secretsKey?: Buffer | undefined;
  /** of PostgreSQL: how many connections at most */
  readonly connections?: number | undefined;
  /** of PostgreSQL: a database in which there is nothing of ours yet is refused, not made ready */
  readonly mustExist?: boolean | undefined;
  /** of SQLite: false, for commands, works on the calling thread and has none of its own */
  readonly threads?: boolean | undefined;
  /** told how many milliseconds each write of acks took */
  readonly onCommit?: ((ms: number) => void) | undefined;
}

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

const DEFAULT_CONNECTIONS = 10;

/**
 * Opens the store that a DATABASE_URL names.
 * @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it
 */
export async function openStore({ secretsKey, onCommit, ...options }: StoreOptions): Promise<EventStore> {
  const { url, clock, threads = true, connections = DEFAULT_CONNECTIONS, mustExist = false } = options;
  const { openEngine, keySourceOf } = await engineOf(url);
  const keySource = secretsKey ? givenKey(secretsKey) : keySourceOf(url);
  const engine = await openEngine({ url, clock, threads, connections, mustExist });
  try {
    return new EventStore({ engine, vault: await Vault.open(engine, keySource), clock, onCommit });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Checks the database that a DATABASE_URL names, as EngineModule says. */
export async function* checkDatabase(options: ToCheck): Checks {
  return yield* (await engineOf(options.url)).check(options);
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
