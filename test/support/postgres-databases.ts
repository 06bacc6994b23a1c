import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { eventually } from './eventually.ts';
import type { SharedPostgres } from './shared-postgres.ts';

/** Seals the secrets of all databases of tests. */
export const SECRETS_KEY = Buffer.alloc(32, 7);

/** Of the advisory locks of the server, the one under which the template is made. */
const TEMPLATE_ALONE = 0x74657374; // "test"

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

/** Makes a database with our schema, as a copy of a template. @returns its name */
export async function createDatabase(server: SharedPostgres): Promise<string> {
  const template = `${server.run}_template`;
  const name = `${server.run}_${randomBytes(6).toString('hex')}`;
  await connected(server.adminUrl(), async (admin) => {
    await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_ALONE]);
    const { rows } = await admin.query(
      `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1) AS has_template,
         current_setting('server_version_num')::integer >= 150000 AS has_strategies`,
      [template],
    );
    if (!rows[0]?.has_template) await makeTemplate(admin, server, template);
    await admin.query('SELECT pg_advisory_unlock($1)', [TEMPLATE_ALONE]);
    // The files as they are: block by block, through the log, takes three times as long where no disk is waited for. Before 15 there
    // was no other way.
    const strategy = rows[0]?.has_strategies ? 'STRATEGY FILE_COPY' : '';
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template} OWNER ${ownerOf(server)} ${strategy}`);
  });
  return name;
}

export async function dropDatabase(server: SharedPostgres, name: string): Promise<void> {
  await connected(server.adminUrl(), (admin) => admin.query(`DROP DATABASE ${name} WITH (FORCE)`));
}

/** Resolves once no program of ours is connected: a busy server notices late that one has ended. */
export async function leftByPrograms(server: SharedPostgres, name: string): Promise<void> {
  await connected(server.adminUrl(), (admin) =>
    eventually(`the programs have left ${name}`, async () => {
      const { rowCount } = await admin.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = $1 AND application_name LIKE 'hookkit%'",
        [name],
      );
      return rowCount === 0;
    }),
  );
}

/** Under another name first: a run that is killed leaves no half of one. */
async function makeTemplate(admin: pg.Client, server: SharedPostgres, template: string): Promise<void> {
  const made = `${template}_in_the_making`;
  await admin.query(`DROP DATABASE IF EXISTS ${made}`);
  await admin.query(`CREATE DATABASE ${made} OWNER ${ownerOf(server)}`);
  const clock = new VirtualClock();
  const store = await PostgresStore.open({
    url: server.url(made),
    clock,
    timeOfDatabase: clock,
    secretsKey: SECRETS_KEY,
  });
  await store.close();
  // A copy needs a database to which nobody is connected, and connections end after the client has said so.
  await eventually('the template is left', async () => {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_stat_activity WHERE datname = $1', [made]);
    return rowCount === 0;
  });
  await admin.query(`ALTER DATABASE ${made} RENAME TO ${template}`);
}

function ownerOf(server: SharedPostgres): string {
  return new URL(server.url('any')).username;
}
