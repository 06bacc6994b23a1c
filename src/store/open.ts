import type { MonotonicClock } from '../base/clock.ts';
import { KitError } from '../base/errors.ts';
import type { Finding } from '../base/finding.ts';
import type { EngineModule } from './engine.ts';
import { EventStore } from './event-store.ts';
import { givenKey } from './key-file.ts';

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
  return EventStore.open({ engine, keySource, clock, onCommit });
}

/** Checks the database that a DATABASE_URL names, as EngineModule says. */
export async function* checkDatabase({
  url,
  secretsKey,
  connections = DEFAULT_CONNECTIONS,
}: Pick<StoreOptions, 'url' | 'secretsKey' | 'connections'>): AsyncGenerator<Finding, boolean, undefined> {
  return yield* (await engineOf(url)).check({ url, secretsKey, connections });
}

/** What a server's configuration says of its store. */
interface ServerSettings {
  readonly DATABASE_URL: string;
  readonly SECRETS_KEY?: Buffer | undefined;
  readonly DATABASE_POOL: number;
}

/** Opens the store of a server. @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it */
export function openForServer(
  { DATABASE_URL: url, SECRETS_KEY: secretsKey, DATABASE_POOL: connections }: ServerSettings,
  options: Pick<StoreOptions, 'clock' | 'threads' | 'onCommit'>,
): Promise<EventStore> {
  return openStore({ url, secretsKey, connections, ...options });
}
