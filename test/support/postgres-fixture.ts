import pg from 'pg';
import type { Clock } from '../../src/base/clock.ts';
import { PostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { eventually } from './eventually.ts';
import { type Database, keptBetweenTests } from './kept-database.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from './postgres-databases.ts';
import type { SharedPostgres } from './shared-postgres.ts';
import type { StoreFactory } from './store-fixture.ts';

/** For each store: tests have several, and suites run side by side. */
const CONNECTIONS = 4;

/**
 * PostgreSQL stores on a database of their own.
 * @param urlOf leads the stores another way than straight to the server
 */
export function postgresFixture(
  server: SharedPostgres,
  urlOf: (database: string) => string = server.url,
): StoreFactory {
  return keptBetweenTests(async () => {
    const name = await createDatabase(server);
    const admin = new pg.Client(server.adminUrl(name));
    await admin.connect();
    return new PostgresDatabase({ server, name, url: urlOf(name), admin });
  });
}

interface Parts {
  readonly server: SharedPostgres;
  readonly name: string;
  readonly url: string;
  readonly admin: pg.Client;
}

class PostgresDatabase implements Database {
  readonly #server: SharedPostgres;
  readonly #name: string;
  readonly #url: string;
  readonly #admin: pg.Client;
  /** by the name of a copy, the statements that bring it back */
  readonly #restoring = new Map<string, string>();

  constructor({ server, name, url, admin }: Parts) {
    this.#server = server;
    this.#name = name;
    this.#url = url;
    this.#admin = admin;
  }

  open(clock: Clock): Promise<PostgresStore> {
    return PostgresStore.open({
      url: this.#url,
      clock: { ...clock, monotonic: clock.now },
      timeOfDatabase: clock,
      secretsKey: SECRETS_KEY,
      connections: CONNECTIONS,
      tidies: false,
    });
  }

  async copyTo(name: string): Promise<void> {
    await this.#idle();
    const statements: string[] = [];
    await this.#admin.query('CREATE SCHEMA IF NOT EXISTS copies');
    for (const table of await this.#named("relkind IN ('r', 'p') AND NOT relispartition")) {
      // DELETE takes 0.1 ms a table and TRUNCATE, which makes new files, 0.6.
      statements.push(`DELETE FROM hookkit.${table}`);
      const copy = `copies."${name} ${table}"`;
      const { rowCount } = await this.#admin.query(`CREATE TABLE ${copy} AS TABLE hookkit.${table}`);
      if (rowCount) statements.push(`INSERT INTO hookkit.${table} SELECT * FROM ${copy}`);
      else await this.#admin.query(`DROP TABLE ${copy}`);
    }
    for (const sequence of await this.#named("relkind = 'S'")) {
      const { rows } = await this.#admin.query<{ last_value: string; is_called: boolean }>(
        `SELECT last_value, is_called FROM hookkit.${sequence}`,
      );
      for (const { last_value, is_called } of rows)
        statements.push(`SELECT setval('hookkit.${sequence}', ${last_value}, ${is_called})`);
    }
    this.#restoring.set(name, statements.join(';\n'));
  }

  async makeAs(name: string): Promise<void> {
    await this.#idle();
    const statements = this.#restoring.get(name);
    if (!statements) throw new Error(`there is no copy ${name}`);
    await this.#admin.query(statements);
  }

  async remove(): Promise<void> {
    await this.#admin.end();
    await dropDatabase(this.#server, this.#name);
  }

  async #named(which: string): Promise<readonly string[]> {
    const { rows } = await this.#admin.query<{ relname: string }>(
      `SELECT relname FROM pg_class WHERE relnamespace = 'hookkit'::regnamespace AND ${which} ORDER BY relname`,
    );
    return rows.map(({ relname }) => relname);
  }

  /** Waits for what the stores still have under way: it would come into what is there next. */
  async #idle(): Promise<void> {
    await eventually('the database is idle', async () => {
      const { rowCount } = await this.#admin.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend' AND state <> 'idle'`,
      );
      return rowCount === 0;
    });
  }
}
