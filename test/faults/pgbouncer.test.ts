import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { describeEventStore } from '../store/conformance.ts';
import { type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { postgresFixture } from '../support/postgres-fixture.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { describeWith } from '../support/tools.ts';

/** Fewer than a store has, so that stores get each other's. */
const CONNECTIONS = 2;

await describeWithPostgres('PgBouncer before PostgreSQL', (server) =>
  describeWith('pgbouncer', 'in transaction mode', () => {
    let bouncer: PgBouncer;
    beforeAll(async () => {
      bouncer = await startPgBouncer(server, CONNECTIONS);
    });
    afterAll(() => bouncer.stop());

    test('lends its connections for a transaction each, when there are more clients than connections', async () => {
      const clients = Array.from({ length: 4 * CONNECTIONS }, () => new pg.Client(bouncer.url('postgres')));
      await Promise.all(clients.map((client) => client.connect()));
      const pids = await Promise.all(
        clients.map(async (client) => (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid),
      );
      expect(new Set(pids).size).toBeLessThanOrEqual(CONNECTIONS);
      await Promise.all(clients.map((client) => client.end()));
    });

    describeEventStore(
      'PostgreSQL through PgBouncer',
      postgresFixture(server, (database) => bouncer.url(database)),
    );
  }),
);
