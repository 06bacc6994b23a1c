import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { claims, HANDLED } from '../../support/claiming.ts';
import { eventually } from '../../support/eventually.ts';
import { only } from '../../support/only.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

const UNAVAILABLE = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringContaining('the database takes no writes'),
};

// What an administrator sets for a database holds for the sessions that begin afterwards.
await describeWithPostgres('a PostgreSQL database with other defaults', (server) => {
  let name: string;
  const stores: PostgresStore[] = [];
  beforeEach(async () => {
    name = await createDatabase(server);
    await (await open()).close();
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    await dropDatabase(server, name);
  });
  const open = async () => {
    const url = server.url(name);
    const store = await PostgresStore.open({
      url,
      clock: systemClock,
      secretsKey: SECRETS_KEY,
      connections: 2,
    });
    stores.push(store);
    return store;
  };
  const set = (setting: string) =>
    connected(server.adminUrl(), (client) => client.query(`ALTER DATABASE ${name} SET ${setting}`));

  test('that is read-only takes no ack, and its health check says so, until it takes writes again', async () => {
    const store = await open();
    await set('default_transaction_read_only = on');
    await connected(server.adminUrl(name), (client) =>
      client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      ),
    );
    await eventually('its connections have ended', () =>
      store.record(verified()).then(
        () => false,
        ({ message }) => /takes no writes/.test(message),
      ),
    );
    await expect(store.record(verified())).rejects.toMatchObject(UNAVAILABLE);
    await expect(store.ping()).rejects.toMatchObject(UNAVAILABLE);
    await expect((await open()).ping()).rejects.toMatchObject(UNAVAILABLE);
    const recorded = await store.count({});
    await set('default_transaction_read_only = off');
    const again = await open();
    await again.ping();
    expect((await again.record(verified({ media_id: 'later' }))).status).toBe('accepted');
    expect(await again.count({})).toBe(recorded + 1);
  });

  test('that is serializable records and handles as ever', async () => {
    await set("default_transaction_isolation = 'serializable'");
    const store = await open();
    const media = Array.from({ length: 20 }, (_, number) => verified({ media_id: `media-${number}` }));
    await Promise.all(media.map((one) => store.record(one)));
    const held = await claims(store);
    expect(held).toHaveLength(media.length);
    expect(await Promise.all(held.map((claim) => store.settle(claim, 'one', HANDLED)))).not.toContain(false);
    expect(only(await store.events({ status: 'handled' }, { limit: 1 })).attempts).toBe(1);
  });
});
