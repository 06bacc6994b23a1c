import { join } from 'node:path';
import { afterAll, beforeEach, test } from '@jest/globals';
import Database from 'better-sqlite3';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { present } from './only.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from './postgres-databases.ts';
import { postgresServer } from './shared-postgres.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/**
 * The engine of the databases that tests of scenarios, commands and pages work with: SQLite, or PostgreSQL with TEST_ENGINE=postgres. What
 * they show must not depend on it.
 */
export const ENGINE: 'sqlite' | 'postgres' = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

type Test = (name: string, run: () => void | Promise<void>, timeoutMs?: number) => void;

/** A text as a column has it: PostgreSQL takes no NUL. */
export const inColumn = (text: string): string =>
  ENGINE === 'postgres' ? text.replaceAll('\0', '\uFFFD') : text;

/** `test` of what only a database in a file has. */
export const testOfFiles: Test = ENGINE === 'sqlite' ? test : test.skip;

/** An empty database. */
export interface TestDatabase {
  /** settings that name it */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a statement on it, by the engine. */
  execute(sql: Readonly<Record<typeof ENGINE, string>>): Promise<void>;
  /** Keeps everybody from writing to it, not from reading. @returns how to end that */
  stall(): Promise<() => Promise<void>>;
  /** Opens a store on it, as another process has, with the key that `env` gives or another one. */
  open(secretsKey?: Buffer): Promise<EventStore>;
  remove(): Promise<void>;
}

/** @param directory of the test */
export async function testDatabase(directory: string, engine = ENGINE): Promise<TestDatabase> {
  if (engine === 'sqlite') {
    const path = join(directory, 'receiver.db');
    const url = `sqlite:${path}`;
    return {
      env: { DATABASE_URL: url },
      async execute({ sqlite }) {
        const db = new Database(path);
        db.exec(sqlite);
        db.close();
      },
      async stall() {
        const db = new Database(path);
        db.exec('BEGIN IMMEDIATE');
        return async () => void db.close();
      },
      open: (secretsKey) => openAsOther(url, secretsKey),
      async remove() {},
    };
  }
  const server = postgresServer();
  const name = await createDatabase(server);
  const url = server.url(name);
  return {
    env: { DATABASE_URL: url, SECRETS_KEY: SECRETS_KEY.toString('base64') },
    execute: ({ postgres }) =>
      connected(server.adminUrl(name), async (client) => void (await client.query(postgres))),
    async stall() {
      const client = new pg.Client(server.adminUrl(name));
      await client.connect();
      while (!(await lockAll(client))) await client.query('ROLLBACK');
      return () => client.end();
    },
    open: (secretsKey = SECRETS_KEY) => openAsOther(url, secretsKey),
    remove: () => dropDatabase(server, name),
  };
}

/** What PostgreSQL says to one of two transactions that wait for each other. */
const DEADLOCK = '40P01';

/** Keeps everybody else from writing. Returns false, if a transaction of the service had its locks in another order. */
async function lockAll(client: pg.Client): Promise<boolean> {
  try {
    await client.query('BEGIN; LOCK TABLE hookkit.events, hookkit.lanes, hookkit.meta IN EXCLUSIVE MODE');
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === DEADLOCK) return false;
    throw error;
  }
}

/** An empty database of one test. */
export interface DatabaseOfTest extends Omit<TestDatabase, 'remove'> {
  /** has its file, where it has one */
  readonly directory: string;
}

/**
 * Gives each test of a suite an empty database. They are removed after the suite, and stores on them that are still open are closed:
 * what a suite does after each of its tests ends servers that use them.
 */
export function databaseForEachTest(): () => DatabaseOfTest {
  let database: DatabaseOfTest | undefined;
  const cleanUps: (() => unknown)[] = [];
  beforeEach(async () => {
    const directory = await temporaryDirectory();
    const made = await testDatabase(directory);
    cleanUps.push(() => made.remove());
    const open: TestDatabase['open'] = async (secretsKey) => {
      const store = await made.open(secretsKey);
      cleanUps.push(() => store.close());
      return store;
    };
    database = { ...made, directory, open };
  });
  afterAll(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp();
  });
  return () => present(database);
}

/** A store on a database, as another process has. */
export const openAsOther = (url: string, secretsKey?: Buffer) =>
  openStore({ DATABASE_URL: url, SECRETS_KEY: secretsKey, clock: systemClock, threads: false });
