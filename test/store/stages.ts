import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe } from '@jest/globals';
import Driver from 'better-sqlite3';
import pg from 'pg';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore, type StoreOptions } from '../../src/store/open.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import type { DatabaseServer } from '../support/postgres-server.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** A database with a store, empty before each test. */
export interface Stage {
  readonly url: string;
  /** as a superuser of PostgreSQL */
  readonly adminUrl: string;
  readonly isPostgres: boolean;
  readonly clock: VirtualClock;
  readonly store: EventStore;
  /** The same database as another process opens it. It is closed after the suite. */
  another(options?: Partial<StoreOptions>): Promise<EventStore>;
  /** Lets time pass, for PostgreSQL by moving what its own clock is compared with. */
  pass(ms: number): Promise<void>;
  sql<R>(text: string): Promise<R[]>;
  empty(): Promise<void>;
}

interface Database {
  readonly url: string;
  readonly adminUrl: string;
  sql(text: string): Promise<unknown[]>;
  remove(): Promise<void>;
}

type Kind = 'SQLite' | 'SQLite with threads' | 'PostgreSQL';

/** Runs tests on SQLite as the service opens it, and on PostgreSQL. */
export function onEachEngine(name: string, tests: (stage: Stage) => void): void {
  describe(`${name} on SQLite`, () => tests(staged('SQLite with threads', sqliteDatabase)));
  onPostgres(name, tests);
}

/** Runs tests on SQLite as commands open it. */
export function onSqlite(name: string, tests: (stage: Stage) => void): void {
  describe(`${name} on SQLite`, () => tests(staged('SQLite', sqliteDatabase)));
}

export function onPostgres(name: string, tests: (stage: Stage) => void): void {
  describeWithPostgres(`${name} on PostgreSQL`, (server) =>
    tests(staged('PostgreSQL', () => postgresDatabase(server))),
  );
}

/** The databases of a file of tests: its suites share them. */
const databases = new Map<Kind, Promise<Database>>();
afterAll(async () => {
  for (const database of databases.values()) await (await database).remove();
});

function staged(kind: Kind, make: () => Promise<Database>): Stage {
  const clock = new VirtualClock(Date.now());
  const stores: EventStore[] = [];
  let database: Database;
  let store: EventStore;
  const another = async (options: Partial<StoreOptions> = {}) => {
    const { url } = database;
    const settings = kind === 'PostgreSQL' ? { SECRETS_KEY, DATABASE_POOL: 4 } : {};
    const threads = kind === 'SQLite with threads';
    const one = await openStore({ DATABASE_URL: url, clock, threads, ...settings, ...options });
    stores.push(one);
    return one;
  };
  beforeAll(async () => {
    const made = databases.get(kind) ?? make();
    databases.set(kind, made);
    database = await made;
    store = await another();
  });
  beforeEach(() => emptied(database, kind));
  afterAll(async () => {
    for (const one of stores) await one.close();
  });
  return {
    isPostgres: kind === 'PostgreSQL',
    clock,
    get url() {
      return database.url;
    },
    get adminUrl() {
      return database.adminUrl;
    },
    get store() {
      return store;
    },
    another,
    sql: <R>(text: string) => database.sql(text) as Promise<R[]>,
    empty: () => emptied(database, kind),
    async pass(ms) {
      await clock.advance(ms);
      if (kind !== 'PostgreSQL') return;
      await database.sql(
        `UPDATE events SET next_at = next_at - ${ms}, held_by = held_by - ${ms} WHERE next_at IS NOT NULL`,
      );
      await database.sql(`UPDATE reminders SET due_at = due_at - ${ms}`);
      await database.sql(`UPDATE lanes SET until = until - ${ms} WHERE lease IS NOT NULL`);
      const renewed = `(value::jsonb->>'renewedAt')::bigint - ${ms}`;
      const earlier = `(value::jsonb || jsonb_build_object('renewedAt', ${renewed}))::text`;
      await database.sql(`UPDATE meta SET value = ${earlier} WHERE name = 'alerts'`);
    },
  };
}

const TABLES =
  'events lanes attempts steps state reminders subscribers channels secrets quarantine stats instances audit'.split(
    ' ',
  );

async function emptied({ sql }: Database, kind: Kind): Promise<void> {
  for (const table of TABLES) await sql(`DELETE FROM ${table}`);
  await sql("DELETE FROM meta WHERE name NOT IN ('version', 'shape', 'key_check')");
  if (kind === 'PostgreSQL') await sql("SELECT setval('events_seq_seq', 1, false)");
}

async function sqliteDatabase(): Promise<Database> {
  const path = join(await temporaryDirectory(), 'receiver.db');
  let driver: Driver.Database | undefined;
  return {
    url: `sqlite:${path}`,
    adminUrl: '',
    async sql(text) {
      driver ??= new Driver(path);
      const statement = driver.prepare(text);
      return statement.reader ? statement.all() : [statement.run()];
    },
    async remove() {
      driver?.close();
    },
  };
}

async function postgresDatabase(server: DatabaseServer): Promise<Database> {
  const name = await createDatabase(server);
  const client = await adminOf(server.adminUrl(name));
  return {
    url: server.url(name),
    adminUrl: server.adminUrl(name),
    sql: async (text) => (await client.query(text)).rows,
    async remove() {
      await client.end();
      await dropDatabase(server, name);
    },
  };
}

const INT8 = 20;

/** A connection of a superuser that reads and changes the tables. */
export async function adminOf(url: string): Promise<pg.Client> {
  const types = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  };
  const client = new pg.Client({ connectionString: url, types: types as never });
  client.on('error', () => {}); // some tests cut connections
  await client.connect();
  await client.query('SET search_path = hookkit');
  return client;
}
