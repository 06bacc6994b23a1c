import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { openStore, type StoreOptions } from '../../src/store/open.ts';
import { check, inTransaction, openTransaction } from '../../src/store/postgres/engine.ts';
import { Servers } from '../../src/store/postgres/servers.ts';
import { VERSION } from '../../src/store/schema.ts';
import { eventually } from '../support/eventually.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../support/postgres-databases.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { notified } from './desk.ts';
import { onPostgres } from './stages.ts';
import { Stepped } from './stepped.ts';

const opened = (url: string, options: Partial<StoreOptions> = {}) =>
  openStore({ DATABASE_URL: url, clock: systemClock, SECRETS_KEY, DATABASE_POOL: 2, ...options });

onPostgres('a start', (stage) => {
  test('changes nothing, when the version is current, and waits for no transaction of others', async () => {
    const a = await Stepped.start(stage, 'start-a');
    const go = await a.upTo(/COMMIT$/, (store) => store.queue.record(notified()));
    const second = await Stepped.start(stage, 'start-b');
    expect(second.texts.join('\n')).not.toMatch(/CREATE|ALTER|INSERT|UPDATE|pg_advisory/);
    await second.store.queue.record(notified('media:b'));
    await go();
  });

  test('needs SECRETS_KEY, the same as the others have', async () => {
    await expect(opened(stage.url, { SECRETS_KEY: undefined })).rejects.toMatchObject({
      ...{ code: 'CONFIG_INVALID', message: expect.stringContaining('SECRETS_KEY is not set') },
    });
    await expect(opened(stage.url, { SECRETS_KEY: Buffer.alloc(32, 1) })).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
    });
  });

  test('takes what hosters write in a URL, and passes over what it does not need', async () => {
    const more =
      'channel_binding=prefer&application_name=mine&connect_timeout=10&target_session_attrs=any&options=-c%20geqo%3Doff';
    const store = await opened(`${stage.url}?${more}`);
    await store.queue.ping();
    expect(
      await stage.sql(
        "SELECT DISTINCT application_name FROM pg_stat_activity WHERE application_name = 'mine'",
      ),
    ).toHaveLength(1);
    await store.close();
  });

  test('refuses modes of TLS in which somebody in between decides', async () => {
    for (const mode of ['prefer', 'allow'])
      await expect(opened(`${stage.url}?sslmode=${mode}`)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining(`sslmode=${mode}`),
      });
    await expect(opened(`${stage.url}?sslmode=require`)).rejects.toMatchObject({
      message: expect.stringContaining('the server has no TLS'),
    });
  });

  test('tries several hosts in turn, and goes on with the one that takes writes', async () => {
    const refuses = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(refuses, 'listening');
    const { port } = refuses.address() as { port: number };
    const store = await opened(stage.url.replace('@', `@127.0.0.1:${port},127.0.0.1:1,`));
    expect(await store.queue.record(notified())).toMatchObject({ status: 'accepted' });
    await store.close();
    refuses.close();
  });

  const wrong: readonly [string, (url: string) => string, RegExp][] = [
    ['no server', (url) => url.replace(/:\d+\//, ':1/'), /no server listens/],
    ['a wrong password', (url) => url.replace(/:[^:@/]+@/, ':hunter2@'), /refuses the user or the password/],
    ['no such database', (url) => url.replace(/\/\w+$/, '/no_such_database'), /has no such database/],
    ['a host without a name', (url) => url.replace('127.0.0.1', 'host.invalid'), /cannot be reached/],
    ['a port that is none', (url) => url.replace(/:\d+\//, ':99999/'), /port|postgres:\/\/USER/],
  ];
  test.each(wrong)('says what to do, without the URL, when it leads to %s', async (_, change, what) => {
    const url = change(stage.url);
    const error = await opened(url).catch((thrown: Error) => thrown);
    expect(error).toMatchObject({
      code: expect.stringMatching(/STORE_UNUSABLE|CONFIG_INVALID/),
      message: expect.stringMatching(what),
    });
    const { username, password, pathname } = new URL(url.replace('99999', '1'));
    for (const part of [username, password, pathname.slice(1)])
      expect(String((error as Error).message)).not.toContain(part);
  });

  test('leaves a connection that takes no writes, and goes on with a new one once the database does', async () => {
    const name = new URL(stage.url).pathname.slice(1);
    const setting = (to: string) =>
      stage.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = ${to}`);
    await setting('on');
    const store = await opened(stage.url);
    await expect(store.queue.ping()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining('takes no writes'),
    });
    await setting('off');
    await store.queue.ping();
    await store.close();
  });
});

describeWithPostgres('an empty PostgreSQL database', (server) => {
  test('is made ready once, when several start at once, and is not, when it must be there already', async () => {
    const name = await createDatabase(server);
    await connected(server.adminUrl(name), (admin) => admin.query('DROP SCHEMA hookkit CASCADE'));
    await expect(opened(server.url(name), { mustBe: 'there' })).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
    });
    const stores = await Promise.all(Array.from({ length: 4 }, () => opened(server.url(name))));
    const one = notified();
    const answers = await Promise.all(stores.map((store) => store.queue.record(one)));
    expect(answers.filter(({ status }) => status === 'accepted')).toHaveLength(1);
    await stores[0]?.secrets.add('webhook1', 'secret');
    for (const store of stores) expect(await store.secrets.live()).toHaveLength(1);
    for (const store of stores) await store.close();
    await dropDatabase(server, name);
  });

  test('may have our schema made beforehand, for a role without the right to make one', async () => {
    const name = await createDatabase(server);
    const owner = new URL(server.url(name)).username;
    await connected(server.adminUrl(name), async (admin) => {
      await admin.query(`DROP SCHEMA hookkit CASCADE; ALTER DATABASE ${name} OWNER TO postgres`);
      await expect(opened(server.url(name))).rejects.toMatchObject({
        message: expect.stringContaining('GRANT CREATE'),
      });
      await admin.query(`CREATE SCHEMA hookkit AUTHORIZATION ${owner}`);
    });
    await (await opened(server.url(name))).close();
    await dropDatabase(server, name);
  });
});

onPostgres('a transaction that stays open', (stage) => {
  test('is told with its process, when it keeps vacuum from removing rows', async () => {
    const servers = new Servers(stage.adminUrl, 1);
    const told = (longest?: string) =>
      inTransaction(servers, 'BEGIN READ ONLY', (db) => openTransaction(db, longest));
    await connected(stage.adminUrl, async (other) => {
      await other.query("SET application_name = 'psql'; BEGIN");
      expect(await told('0 s')).toBeUndefined();
      await other.query('SELECT pg_current_xact_id()');
      expect(await told()).toBeUndefined();
      expect(await told('0 s')).toEqual({
        fault: 'open_transaction',
        text: expect.stringMatching(
          /^A transaction of PID \d+ \(psql, idle in transaction\) has been open for 0 min$/,
        ),
        advice: expect.stringMatching(/superuser: SELECT pg_terminate_backend\(\d+\)\.$/),
      });
    });
    await servers.close();
  });
});

onPostgres('the doctor', (stage) => {
  test('fails where a commit can be lost, the key is missing, or a newer program has it', async () => {
    const examined = () => Array.fromAsync(check({ DATABASE_URL: stage.url, SECRETS_KEY: undefined }));
    const found = await examined();
    const results = Object.fromEntries(found.map(({ check, result }) => [check, result]));
    // The server of tests has fsync off.
    expect(results).toMatchObject({ server: 'ok', database: 'ok', durability: 'FAIL', key: 'FAIL' });
    await stage.sql("UPDATE meta SET value = '99' WHERE name = 'version'");
    const detail = expect.stringContaining(`it has schema version 99 and this program knows ${VERSION}`);
    expect((await examined()).at(-1)).toEqual({ check: 'database', result: 'FAIL', detail });
  });

  test.each(['secrets', 'meta'])('says at once who has locked the table %s', async (table) => {
    await connected(stage.adminUrl, async (other) => {
      await other.query(`SET application_name = 'psql'; BEGIN; LOCK TABLE hookkit.${table}`);
      const found = async () => Array.fromAsync(check({ DATABASE_URL: stage.url, SECRETS_KEY }));
      await eventually('it is told', async () => (await found()).length === 1); // not a lock of a moment
      const pid = 'SELECT pg_terminate_backend\\(\\d+\\)';
      const detail = `: PID \\d+ \\(psql\\) has locked the table hookkit.${table}: end it, as its role or a superuser: ${pid}$`;
      expect(await found()).toEqual([
        { check: 'database', result: 'FAIL', detail: expect.stringMatching(detail) },
      ]);
    });
  });
});
