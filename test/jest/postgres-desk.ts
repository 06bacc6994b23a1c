import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { PostgresServer } from '../support/postgres-server.ts';
import type { SharedAnswer } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/**
 * Where the processes of a test run ask for its PostgreSQL. The first that asks has one started; it ends with the run.
 * TEST_DATABASE_URL names another, as a superuser.
 */
export class PostgresDesk {
  readonly #folder: string;
  readonly #desk: Server;
  /** Begins the names of what this run makes on a server that is not its own. */
  readonly #run = `test_${randomBytes(4).toString('hex')}`;
  readonly #external = process.env.TEST_DATABASE_URL;
  #server: PostgresServer | undefined;
  #answer: Promise<SharedAnswer> | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#desk = createServer(async (asking) => {
      asking.on('error', () => {}); // whoever asked has ended
      this.#answer ??= this.#start();
      asking.end(JSON.stringify(await this.#answer));
    });
    this.#desk.unref();
  }

  static async open(): Promise<PostgresDesk> {
    const desk = new PostgresDesk(await temporaryDirectory());
    desk.#desk.listen(desk.path);
    await once(desk.#desk, 'listening');
    return desk;
  }

  get path(): string {
    return join(this.#folder, 'desk');
  }

  async close(): Promise<void> {
    this.#desk.close();
    if ((await this.#answer) && this.#external !== undefined) await dropOfRun(this.#external, this.#run);
    await this.#server?.remove();
    await rm(this.#folder, { recursive: true });
  }

  async #start(): Promise<SharedAnswer> {
    const run = this.#run;
    if (this.#external !== undefined) {
      return { run, url: await ownerOn(this.#external, run), adminUrl: this.#external };
    }
    try {
      // Loaded when somebody asks: most runs are of suites that do not.
      const { PostgresServer } = await import('../support/postgres-server.ts');
      this.#server = await PostgresServer.make();
      await this.#server.start();
      return { run, url: this.#server.url('postgres'), adminUrl: this.#server.adminUrl() };
    } catch (error) {
      await this.#server?.remove();
      return { missing: error instanceof Error ? error.message.replaceAll('\n', ' ') : String(error) };
    }
  }
}

/** Makes the role that owns the databases of a run; it is no superuser, as at an operator's. @returns a URL as that role */
function ownerOn(adminUrl: string, run: string): Promise<string> {
  const url = new URL(adminUrl);
  url.username = run;
  url.password = randomBytes(16).toString('hex');
  return asAdmin(adminUrl, async (admin) => {
    await admin.query(`CREATE ROLE ${run} LOGIN PASSWORD '${url.password}'`);
    return url.href;
  });
}

function dropOfRun(url: string, run: string): Promise<void> {
  return asAdmin(url, async (admin) => {
    const { rows } = await admin.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [run],
    );
    for (const { datname } of rows) await admin.query(`DROP DATABASE ${datname} WITH (FORCE)`);
    await admin.query(`DROP ROLE IF EXISTS ${run}`);
  });
}

async function asAdmin<T>(url: string, use: (admin: Client) => Promise<T>): Promise<T> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(url);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
