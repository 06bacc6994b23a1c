import { join } from 'node:path';
import { test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore } from '../../src/store/open.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from './postgres-databases.ts';
import { postgresServer } from './shared-postgres.ts';

/**
 * The engine of the databases that tests of commands and pages work with: SQLite, or PostgreSQL with TEST_ENGINE=postgres. What they
 * show must not depend on it; `test/faults/engines.test.ts` runs them again on PostgreSQL.
 */
export const ENGINE: 'sqlite' | 'postgres' = process.env.TEST_ENGINE === 'postgres' ? 'postgres' : 'sqlite';

/** `test` of what only a database in a file has. */
export const testOfFiles = ENGINE === 'sqlite' ? test : test.skip;

/** Settings of a database that is not there, and whose file would lie in a directory. */
export const absentIn = (directory: string) => ({ DATABASE_URL: `sqlite:${join(directory, 'absent.db')}` });

/** An empty database. */
export interface TestDatabase {
  /** settings that name it */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a statement on it, by the engine. */
  execute(sql: Readonly<Record<typeof ENGINE, string>>): Promise<void>;
  /** Opens a store on it, as another process has. */
  open(): Promise<EventStore>;
  remove(): Promise<void>;
}

/** @param directory of the test, which removes it with all that lies in it */
export async function testDatabase(directory: string): Promise<TestDatabase> {
  if (ENGINE === 'sqlite') {
    const path = join(directory, 'receiver.db');
    const url = `sqlite:${path}`;
    return {
      env: { DATABASE_URL: url },
      async execute({ sqlite }) {
        const db = new Database(path);
        db.exec(sqlite);
        db.close();
      },
      open: () => opened(url),
      async remove() {},
    };
  }
  const server = await postgresServer();
  const name = await createDatabase(server);
  const url = server.url(name);
  return {
    env: { DATABASE_URL: url, SECRETS_KEY: SECRETS_KEY.toString('base64') },
    execute: ({ postgres }) =>
      connected(server.adminUrl(name), async (client) => void (await client.query(postgres))),
    open: () => opened(url, SECRETS_KEY),
    remove: () => dropDatabase(server, name),
  };
}

const opened = (url: string, secretsKey?: Buffer) =>
  openStore({ url, secretsKey, clock: systemClock, threads: false });
