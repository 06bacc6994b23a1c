import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { Database } from '../../../src/store/postgres/database.ts';
import { reasonOf } from '../../../src/store/postgres/reasons.ts';
import { createDatabase, dropDatabase } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';

/** How often, as what is lost first differs: the answer, or the connection. */
const ROUNDS = 20;

await describeWithPostgres('a connection to PostgreSQL', (server) => {
  let name: string;
  let proxy: net.Server;
  /** what a client sends before its connection is cut; undefined: nothing is */
  let last: string | undefined;
  beforeEach(async () => {
    name = await createDatabase(server);
    const { hostname, port } = new URL(server.url(name));
    proxy = net.createServer((client) => {
      const there = net.connect(Number(port), hostname);
      for (const socket of [client, there]) socket.on('error', () => undefined);
      client.on('data', (data) => {
        if (last === undefined || !data.includes(last)) return void there.write(data);
        client.destroy();
        there.destroy();
      });
      there.pipe(client);
      client.on('close', () => there.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
  });
  afterEach(async () => {
    proxy.close();
    await dropDatabase(server, name);
  });

  test.each(['pg_is_in_recovery', 'SELECT 7'])(
    'that is cut when it has sent %s fails its statement and nothing else, and the next one is made',
    async (text) => {
      const url = new URL(server.url(name));
      url.host = `127.0.0.1:${(proxy.address() as net.AddressInfo).port}`;
      const database = new Database({ url: url.href, connections: 2, name: 'test' });
      const ask = () => database.statements.rows<{ seven: number }>('SELECT 7 AS seven');
      for (let round = 0; round < ROUNDS; round++) {
        last = text;
        await expect(Promise.all([ask(), ask()])).rejects.toThrow(/terminated|connection/i);
        last = undefined;
        expect(await ask()).toEqual([{ seven: 7 }]);
        await database.statements
          .rows('SELECT pg_terminate_backend(pg_backend_pid())')
          .catch(() => undefined);
      }
      await database.close();
    },
  );

  test('that gets no answer in time says what to look at', async () => {
    const client = new pg.Client({ connectionString: server.url(name), query_timeout: 50 });
    await client.connect();
    const failure = await client.query('SELECT pg_sleep(1)').catch((error: unknown) => error);
    expect(reasonOf(failure)).toBe(
      'the server has not answered for 30 s: look at it, at the network and, where it waits for standbys, at those',
    );
    await client.end();
  });
});
