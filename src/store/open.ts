import type { Logger } from 'pino';
import type { MonotonicClock } from '../base/clock.ts';
import { sqlitePathOf } from '../base/database-url.ts';
import { KitError } from '../base/errors.ts';
import { type Finding, findingsOf } from '../base/finding.ts';
import { checkSqlite } from './check-files.ts';
import type { EventStore } from './event-store.ts';
import { SqliteStore } from './sqlite/sqlite-store.ts';
import type { Side } from './transfer/side.ts';
import { NO_KEY } from './vault.ts';

export interface StoreOptions {
  /** `sqlite:PATH`, or `postgres://USER@HOST:PORT/DATABASE` */
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
  /** of PostgreSQL: whether it cares for the tables beside the work, as a server does; without it, as `threads` says */
  readonly tidies?: boolean | undefined;
  /** told how many milliseconds each commit took */
  readonly onCommit?: ((ms: number) => void) | undefined;
  /** told in a sentence what only an administrator of the database can mend, and how */
  readonly onTrouble?: ((what: string) => void) | undefined;
}

const pathOf = (url: string) => sqlitePathOf(url) ?? '';

/** How a database is opened, by the scheme of its URL. */
const drivers: Readonly<Record<string, (options: StoreOptions) => Promise<EventStore>>> = {
  sqlite: ({ url, ...options }) => SqliteStore.open({ path: pathOf(url), ...options }),
  postgres: async (options) => (await import('./postgres/postgres-store.ts')).openPostgres(options),
};

/** How a database is checked before it is opened, by the scheme of its URL. */
const checks: Readonly<
  Record<string, (options: StoreOptions) => Promise<AsyncGenerator<Finding, boolean, undefined>>>
> = {
  sqlite: async ({ url, secretsKey }) => checkSqlite(pathOf(url), secretsKey),
  postgres: async (options) => (await import('./postgres/check-server.ts')).checkServer(options),
};

/** How a database is opened as one side of a transfer. */
const sides: Readonly<Record<string, (url: string, options: SideOptions) => Promise<Side>>> = {
  sqlite: async (url) => (await import('./transfer/sqlite-side.ts')).openSqliteSide(pathOf(url)),
  postgres: async (...given) => (await import('./postgres/postgres-side.ts')).openPostgresSide(...given),
};

type SideOptions = Pick<StoreOptions, 'mustExist'>;

/**
 * Opens a database as one side of a transfer, and brings its schema up to date.
 * @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it
 */
export function openSide(url: string, options: SideOptions = {}): Promise<Side> {
  return openBy(sides, url)(url, options);
}

/**
 * Checks the database that a DATABASE_URL names, without changing it.
 * @returns whether `openStore` changes nothing either: it makes a database that is not there, and brings an older one up to date
 */
export async function* checkDatabase(options: StoreOptions): AsyncGenerator<Finding, boolean, undefined> {
  return yield* await openBy(checks, options.url)(options);
}

/** The finding for a key that must be given and is not; undefined if nothing is wrong. */
export function checkKey({ url, secretsKey }: Pick<StoreOptions, 'url' | 'secretsKey'>): Finding | undefined {
  const isNeeded = sqlitePathOf(url) === undefined;
  return isNeeded && !secretsKey ? findingsOf('secrets').fail(NO_KEY) : undefined;
}

/**
 * Opens the store that a DATABASE_URL names.
 * @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it
 */
export async function openStore(options: StoreOptions): Promise<EventStore> {
  return openBy(drivers, options.url)(options);
}

/** What a server's configuration says of its store. */
interface ServerSettings {
  readonly DATABASE_URL: string;
  readonly SECRETS_KEY?: Buffer | undefined;
  readonly DATABASE_POOL: number;
}

/**
 * Opens the store of a server. What only an administrator of the database can mend is told in the log.
 * @throws KitError STORE_UNUSABLE or CONFIG_INVALID with what to do about it
 */
export function openForServer(
  { DATABASE_URL: url, SECRETS_KEY: secretsKey, DATABASE_POOL: connections }: ServerSettings,
  {
    log,
    ...options
  }: Pick<StoreOptions, 'clock' | 'threads' | 'onCommit'> & { readonly log: Pick<Logger, 'warn'> },
): Promise<EventStore> {
  const onTrouble = (reason: string) => log.warn({ reason }, 'the database needs care');
  return openStore({ url, secretsKey, connections, onTrouble, ...options });
}

function openBy<O>(ways: Readonly<Record<string, O>>, url: string): O {
  const scheme = url.slice(0, url.indexOf(':')).replace('postgresql', 'postgres');
  const way = Object.hasOwn(ways, scheme) ? ways[scheme] : undefined;
  if (way) return way;
  throw new KitError('STORE_UNUSABLE', `DATABASE_URL must begin with ${Object.keys(ways).join(': or ')}:`);
}
