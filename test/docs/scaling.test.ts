import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';

const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8');
const queries = [...page.matchAll(/^```sql\n(.*?)^```/gms)].map(([, sql = '']) => sql);

describeWithPostgres('docs/scaling.md', (server) => {
  let name: string;
  beforeAll(async () => {
    name = await createDatabase(server);
  });
  afterAll(() => dropDatabase(server, name));

  const opened = () => openStore({ DATABASE_URL: server.url(name), clock: systemClock, SECRETS_KEY });

  test.each(queries)('has a query that the server takes: %s', async (sql) => {
    await connected(server.url(name), (client) => client.query(sql));
  });

  test('makes the role of the receivers the owner of everything, when a superuser has restored it', async () => {
    const sql = queries.find((one) => one.includes('OWNER TO')) ?? '';
    const owners = `SELECT DISTINCT relowner::regrole::text AS owner FROM pg_class
      WHERE relnamespace = 'hookkit'::regnamespace AND relkind IN ('r', 'p', 'v', 'S')`;
    await connected(server.adminUrl(name), async (admin) => {
      const [{ superuser }] = (await admin.query('SELECT current_user AS superuser')).rows;
      await admin.query(sql.replaceAll('OWNER TO hookkit', `OWNER TO ${superuser}`));
      expect((await admin.query(owners)).rows).toEqual([{ owner: superuser }]);
      await expect(opened()).rejects.toThrow('owner of schema hookkit');
      await admin.query(sql);
      expect((await admin.query(owners)).rows).toEqual([{ owner: 'hookkit' }]);
      await (await opened()).close();
    });
  });
});
