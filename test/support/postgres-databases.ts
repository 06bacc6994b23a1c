import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from './eventually.ts';
import type { DatabaseServer } from './postgres-server.ts';

/** Seals the secrets of all databases of tests. */
export const SECRETS_KEY = Buffer.alloc(32, 7);

/** Connects for a few statements. */
export async function connected<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Makes a database with our schema. @returns its name */
export async function createDatabase(server: DatabaseServer): Promise<string> {
  const name = `test_${randomBytes(6).toString('hex')}`;
  const owner = new URL(server.url('any')).username;
  await connected(server.adminUrl(), (admin) =>
    admin.query(`CREATE DATABASE ${name} OWNER ${owner} STRATEGY FILE_COPY`),
  );
  const store = await openStore({ DATABASE_URL: server.url(name), clock: systemClock, SECRETS_KEY });
  await store.close();
  return name;
}

export async function dropDatabase(server: DatabaseServer, name: string): Promise<void> {
  await connected(server.adminUrl(), (admin) => admin.query(`DROP DATABASE ${name} WITH (FORCE)`));
}

/** Resolves once no program of ours is connected: a busy server notices late that one has ended. */
export async function leftByPrograms(server: DatabaseServer, name: string): Promise<void> {
  await connected(server.adminUrl(), (admin) =>
    eventually(`the programs have left ${name}`, async () => {
      const { rowCount } = await admin.query(
        'SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
        [name],
      );
      return rowCount === 0;
    }),
  );
}
