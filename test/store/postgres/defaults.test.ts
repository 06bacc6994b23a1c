import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import { Database } from '../../../src/store/postgres/database.ts';
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

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

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

  test('whose commits do not wait for the disk any more: what must outlast a crash waits all the same', async () => {
    const database = new Database({ url: server.url(name), connections: 1, name: 'test' });
    const asked = "SELECT current_setting('synchronous_commit') AS level";
    const levels = async () => {
      const [alone] = await database.frequent.rows<{ level: string }>(asked);
      const [durable] = await database.transaction((session) => session.rows<{ level: string }>(asked));
      const [relaxed] = await database.transaction((session) => session.rows<{ level: string }>(asked), {
        isDurable: false,
      });
      return [alone, durable, relaxed].map((row) => row?.level);
    };
    try {
      expect(await levels()).toEqual(['on', 'on', 'off']);
      // As a reload of the server's configuration does it, for a connection that is there.
      await database.statements.script('SET synchronous_commit = off');
      expect(await levels()).toEqual(['on', 'on', 'off']);
      await database.statements.script('SET synchronous_commit = remote_apply');
    } finally {
      await database.close();
    }
    for (const [setting, kept] of [
      ['off', 'on'],
      ['remote_apply', 'remote_apply'],
      ['local', 'local'],
    ]) {
      await set(`synchronous_commit = ${setting}`);
      const later = new Database({ url: server.url(name), connections: 1, name: 'test' });
      const [row] = await later.frequent.rows<{ level: string }>(asked).finally(() => later.close());
      expect(row?.level).toBe(kept);
    }
  });

  test('that limits whole transactions handles as ever', async () => {
    const database = new Database({ url: server.url(name), connections: 1, name: 'test' });
    const [row] = await database.statements
      .rows<{ version: number }>("SELECT current_setting('server_version_num')::integer AS version")
      .finally(() => database.close());
    if ((row?.version ?? 0) < 170_000)
      return void process.stdout.write('skipped: the server has no such limit\n');
    await set("transaction_timeout = '50ms'");
    const slow = new Database({ url: server.url(name), connections: 1, name: 'test' });
    const rest = 'SELECT pg_sleep(0.2)';
    try {
      await slow.transaction((session) => session.rows(rest));
      await slow.frequent.rows(rest);
    } finally {
      await slow.close();
    }
  });

  test.each([
    ['may not write a table that acks write', 'REVOKE INSERT ON hookkit.bodies FROM', 'permission denied'],
    ['may not write the ledger', 'REVOKE INSERT ON hookkit.ledger FROM', 'permission denied'],
  ])('whose role %s fails the health check', async (_, revoke, told) => {
    const store = await open();
    await store.ping();
    const role = new URL(server.url(name)).username;
    await connected(server.adminUrl(name), (admin) => admin.query(`${revoke} ${role}`));
    const refused = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining(told) };
    await expect(store.record(verified())).rejects.toMatchObject(refused);
    await expect(store.ping()).rejects.toMatchObject(refused);
  });

  test('whose ledger is locked keeps the health check waiting, as acks', async () => {
    const store = await open();
    await connected(server.adminUrl(name), async (admin) => {
      await admin.query('BEGIN');
      await admin.query('LOCK TABLE hookkit.ledger IN EXCLUSIVE MODE');
      const pinged = store.ping().then(() => 'pinged');
      expect(await Promise.race([pinged, pause(300).then(() => 'waiting')])).toBe('waiting');
      await admin.query('COMMIT');
      expect(await pinged).toBe('pinged');
    });
  });

  test('that has fewer connections for a role than its pool wants serves with those', async () => {
    await connected(server.adminUrl(), (admin) => admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT 4`));
    const database = new Database({ url: server.url(name), connections: 12, name: 'test' });
    try {
      for (let round = 0; round < 3; round++) {
        const done = Array.from({ length: 40 }, () => database.statements.rows('SELECT pg_sleep(0.01)'));
        expect(await Promise.all(done)).toHaveLength(40);
      }
    } finally {
      await database.close();
      await connected(server.adminUrl(), (admin) =>
        admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1`),
      );
    }
  });
});
