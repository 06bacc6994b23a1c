import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { type Here, judge, readFacts, type ServerFacts } from '../../../src/store/postgres/check-server.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { makePartitions } from '../../../src/store/postgres/partitions.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { only } from '../../support/only.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { startPostgres } from '../../support/postgres-server.ts';
import { runCli } from '../../support/run-cli.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';

/** A server of which nothing is to be said. */
const WELL: ServerFacts = {
  version: '18.1',
  versionNumber: 180_001,
  encoding: 'UTF8',
  schemaVersion: 1,
  fsync: 'on',
  fullPageWrites: 'on',
  synchronousCommit: 'on',
  synchronousStandbys: '',
  autovacuum: 'on',
  trackCounts: 'on',
  isStandby: false,
  seesAll: true,
  maxConnections: 100,
  reservedConnections: 3,
  connected: 20,
  connectionLimit: undefined,
  now: Date.UTC(2026, 11, 31),
  standbys: [],
  notVacuumed: [],
  partitions: ['bodies_2026_12', 'attempts_2026_12', 'bodies_2027_01', 'attempts_2027_01'].map(
    (name) => `hookkit.${name}`,
  ),
  strays: [],
  oldest: undefined,
  hotTables: [{ name: 'work', dead: 100_000, live: 3 }],
};
const HERE: Here = { now: WELL.now, uncertainty: 0, connections: 10 };
const STANDBY = { name: 'two', state: 'streaming', sync: 'sync', lagSeconds: null, lagBytes: 0 };
const LONG = { who: 'the transaction of pid 7', end: 'SELECT pg_terminate_backend(7)', seconds: 301 };

const problems = (facts: Partial<ServerFacts>, here: Partial<Here> = {}) =>
  judge({ ...WELL, ...facts }, { ...HERE, ...here }).filter(({ result }) => result !== 'ok');

test('has nothing to say of a server, when all is well', () => {
  expect(problems({})).toEqual([]);
  expect(problems({ synchronousStandbys: 'two', standbys: [STANDBY] })).toEqual([]);
  expect(problems({ oldest: { ...LONG, seconds: 300 } }, { now: WELL.now - 1000 })).toEqual([]);
});

test.each<[string, string, string, Partial<ServerFacts>, Partial<Here>?]>([
  ['the server is too old', 'FAIL', 'upgrade it', { versionNumber: 130_022 }],
  ['the database has another encoding', 'FAIL', "ENCODING 'UTF8'", { encoding: 'LATIN1' }],
  ['the schema is newer than the program', 'FAIL', 'run the newer program', { schemaVersion: 1000 }],
  ['fsync is off', 'FAIL', 'fsync = on', { fsync: 'off' }],
  ['commits do not wait for the disk', 'FAIL', 'synchronous_commit = on', { synchronousCommit: 'off' }],
  ['pages may be torn', 'warn', 'full_page_writes = on', { fullPageWrites: 'off' }],
  [
    'commits do not wait for the disk of the standby',
    'warn',
    'synchronous_commit = on',
    { synchronousCommit: 'remote_write', synchronousStandbys: 'two', standbys: [STANDBY] },
  ],
  ['the standby that commits wait for is away', 'FAIL', 'start one', { synchronousStandbys: 'two' }],
  ['a standby is late', 'warn', 'a failover would lose', { standbys: [{ ...STANDBY, lagSeconds: 11 }] }],
  ['a standby has much to fetch', 'warn', '65.0 MiB', { standbys: [{ ...STANDBY, lagBytes: 65 * 2 ** 20 }] }],
  ['autovacuum is off', 'FAIL', 'autovacuum off', { autovacuum: 'off' }],
  ['nothing is counted for it', 'FAIL', 'track_counts off', { trackCounts: 'off' }],
  ['it is off for a table', 'FAIL', 'RESET', { notVacuumed: ['work'] }],
  [
    'a month has no partition',
    'warn',
    'hookkit.bodies_2027_02',
    { now: Date.UTC(2027, 0, 1) },
    { now: Date.UTC(2027, 0, 1) },
  ],
  ['rows came before their partition', 'warn', 'bodies_other', { strays: ['hookkit.bodies_other'] }],
  ['the pool is larger than the server', 'FAIL', 'lower DATABASE_POOL', {}, { connections: 98 }],
  ['the pool is larger than the role may have', 'FAIL', 'a limit of 9', { connectionLimit: 9 }],
  ['other programs have the connections', 'warn', 'no room', { connected: 88 }],
  ['this machine is behind', 'warn', '1.1 s behind', {}, { now: WELL.now - 1100 }],
  ['this machine is ahead', 'warn', '2.0 s ahead', {}, { now: WELL.now + 2000 }],
  ['a transaction stays open', 'warn', 'SELECT pg_terminate_backend(7)', { oldest: LONG }],
  ['dead rows gather', 'warn', 'VACUUM', { hotTables: [{ name: 'work', dead: 100_001, live: 3 }] }],
])('says what to do, when %s', (...[, result, advice, facts, here]) => {
  expect(only(problems(facts, here))).toMatchObject({ result, detail: expect.stringContaining(advice) });
});

test('leaves a difference of clocks alone, when the answer took longer than that', () => {
  expect(problems({}, { now: WELL.now + 1400, uncertainty: 500 })).toEqual([]);
});

await describeWithPostgres('the checks of a PostgreSQL server', (server) => {
  let name: string;
  let database: Database;
  let admin: pg.Client;
  beforeAll(async () => {
    name = await createDatabase(server);
    database = new Database({ url: server.url(name), connections: 1, name: 'checks' });
    admin = new pg.Client(server.adminUrl(name));
    await admin.connect();
  });
  afterAll(async () => {
    await database.close();
    await admin.end();
    await dropDatabase(server, name);
  });

  const facts = async () =>
    (await database.transaction((session) => readFacts(session, systemClock), { isReadOnly: true })).facts;
  const shown = async (setting: string) => only((await admin.query(`SHOW ${setting}`)).rows)[setting];

  test('read the settings, when the role is no superuser', async () => {
    expect(await facts()).toMatchObject({
      version: await shown('server_version'),
      fsync: await shown('fsync'),
      fullPageWrites: await shown('full_page_writes'),
      synchronousCommit: 'on',
      synchronousStandbys: '',
      autovacuum: 'on',
      trackCounts: 'on',
      isStandby: false,
      maxConnections: Number(await shown('max_connections')),
      standbys: [],
      notVacuumed: [],
      strays: [],
      hotTables: [
        { name: 'lanes', dead: 0, live: 0 },
        { name: 'work', dead: 0, live: 0 },
      ],
    });
  });

  test('see limits of the database and tables without autovacuum, when there are some', async () => {
    const owner = new URL(server.url(name)).username;
    await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT 7`);
    await admin.query('ALTER TABLE hookkit.work SET (autovacuum_enabled = off)');
    expect(await facts()).toMatchObject({ connectionLimit: 7, notVacuumed: ['work'] });
    await admin.query(`ALTER ROLE ${owner} IN DATABASE ${name} SET synchronous_commit = local`);
    const again = new Database({ url: server.url(name), connections: 1, name: 'again' });
    try {
      const read = await again.transaction((session) => readFacts(session, systemClock));
      expect(read.facts.synchronousCommit).toBe('local');
    } finally {
      await again.close();
      await admin.query(`ALTER ROLE ${owner} IN DATABASE ${name} RESET synchronous_commit`);
      await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1`);
      await admin.query('ALTER TABLE hookkit.work RESET (autovacuum_enabled)');
    }
  });

  test('count connections, when there is one more', async () => {
    const before = await facts();
    expect(before.connected).toBeGreaterThanOrEqual(2);
    expect(before.connected).toBeLessThanOrEqual(before.maxConnections);
  });

  test('name the transaction that holds vacuum back, when one reads and is left open, and when one has written', async () => {
    for (const sql of ['SELECT 1', 'CREATE TEMPORARY TABLE written () ON COMMIT DROP']) {
      await connected(server.url(name), async (client) => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
        await client.query(sql);
        const pid = only((await client.query('SELECT pg_backend_pid() AS pid')).rows).pid;
        expect((await facts()).oldest).toMatchObject({
          who: `the transaction of pid ${pid}`,
          end: `SELECT pg_terminate_backend(${pid})`,
          seconds: expect.any(Number),
        });
        await client.query('ROLLBACK');
      });
    }
  });

  test('find the rows that came before their partition, when there are some', async () => {
    await admin.query("INSERT INTO hookkit.bodies VALUES (1, 0, '')");
    expect(await facts()).toMatchObject({ strays: ['hookkit.bodies_other'] });
    await admin.query('DELETE FROM hookkit.bodies');
  });

  test('compare the clocks, when this machine is an hour ahead', async () => {
    const clock = new VirtualClock(systemClock.now() + 3_600_000);
    const read = await database.transaction((session) => readFacts(session, clock));
    const here = { now: (read.asked + read.answered) / 2, uncertainty: 0, connections: 10 };
    expect(judge(read.facts, here)).toContainEqual(
      expect.objectContaining({ check: 'time', result: 'warn', detail: expect.stringMatching(/ahead/) }),
    );
  });

  describe('in the doctor', () => {
    async function doctor(url: string, env: Readonly<Record<string, string>> = {}) {
      const run = await runCli(['doctor', '--offline', '--json'], {
        env: { DATABASE_URL: url, SECRETS_KEY: SECRETS_KEY.toString('base64'), ...env },
      });
      const { findings } = JSON.parse(run.stdout);
      return { code: run.code, findings, all: run.stdout + run.stderr };
    }

    test('stand beside the others, when the database is PostgreSQL', async () => {
      await makePartitions(database, systemClock.now());
      const { findings } = await doctor(server.url(name), { DATABASE_POOL: '17' });
      expect(findings.map(({ check }: { check: string }) => check)).toEqual(
        expect.arrayContaining([
          ...['server', 'durability', 'replication', 'connections', 'time', 'partitions', 'vacuum'],
          ...['snapshots', 'bloat', 'secrets', 'events'],
        ]),
      );
      expect(findings).toContainEqual(expect.objectContaining({ check: 'partitions', result: 'ok' }));
      expect(findings).toContainEqual(
        expect.objectContaining({
          check: 'connections',
          detail: expect.stringContaining('DATABASE_POOL 17'),
        }),
      );
    });

    test('change nothing, when the database has no tables yet, or those of a newer program', async () => {
      const empty = await createDatabase(server);
      const tables = () =>
        connected(server.adminUrl(empty), async (client) => {
          const found = await client.query("SELECT to_regclass('hookkit.meta') IS NOT NULL AS some");
          return only(found.rows).some;
        });
      try {
        const newer = server.adminUrl(empty);
        await connected(newer, (client) =>
          client.query("UPDATE hookkit.meta SET value = '1000' WHERE name = 'version'"),
        );
        expect((await doctor(server.url(empty))).findings).toContainEqual({
          check: 'database',
          result: 'FAIL',
          detail: expect.stringContaining('run the newer program'),
        });
        await connected(newer, (client) => client.query('DROP SCHEMA hookkit CASCADE'));
        const { findings } = await doctor(server.url(empty));
        expect(findings).toEqual(
          expect.arrayContaining([
            {
              check: 'database',
              result: 'warn',
              detail: expect.stringContaining('the first start makes them'),
            },
            { check: 'partitions', result: 'skipped', detail: expect.any(String) },
            { check: 'bloat', result: 'skipped', detail: expect.any(String) },
            { check: 'secrets', result: 'skipped', detail: expect.any(String) },
          ]),
        );
        expect(await tables()).toBe(false);
      } finally {
        await dropDatabase(server, empty);
      }
    });

    test.each<
      [string, string, Partial<Pick<URL, 'password' | 'username' | 'port' | 'hostname' | 'pathname'>>]
    >([
      ['the password is wrong', '28P01', { password: 'not-the-password' }],
      ['the user is not there', '28P01', { username: 'nobody-known' }],
      ['nothing listens', 'ECONNREFUSED', { port: '1' }],
      ['the host is not known', 'ENOTFOUND', { hostname: 'no-such-host.invalid' }],
      ['the database is not there', '3D000', { pathname: '/no_such_database' }],
    ])('say what to do and nothing of the URL, when %s', async (_when, code, change) => {
      const url = Object.assign(new URL(server.url(name)), change);
      const run = await doctor(url.href);
      expect(run.code).toBe(1);
      expect(run.findings).toContainEqual({
        check: 'database',
        result: 'FAIL',
        detail: expect.stringMatching(/: (correct|make|start|raise|look)/),
      });
      expect(run.all).toContain(code === 'ENOTFOUND' && run.all.includes('EAI_AGAIN') ? 'EAI_AGAIN' : code);
      for (const part of [url.href, url.password, `"${url.username}"`, url.host, url.pathname.slice(1)])
        expect(run.all).not.toContain(part);
    });
  });
});

await describeWithPostgres('the checks of a PostgreSQL server that keeps all', () => {
  test('find it durable, when its settings are those that it has by itself, and useless, when it is a standby', async () => {
    const own = await startPostgres({ durable: true });
    try {
      await connected(own.adminUrl(), (admin) => admin.query('CREATE DATABASE checked'));
      const store = await PostgresStore.open({
        url: own.adminUrl('checked'),
        clock: systemClock,
        secretsKey: SECRETS_KEY,
        tidies: false,
      });
      await store.close();
      const run = await runCli(['doctor', '--offline', '--json'], {
        env: {
          DATABASE_URL: own.adminUrl('checked'),
          SECRETS_KEY: SECRETS_KEY.toString('base64'),
          WEBHOOK_SECRET: 'aa4f1d2c9e8b7a6d5c4b3a29181706f5',
        },
      });
      const { findings } = JSON.parse(run.stdout);
      const results = Object.fromEntries(
        findings.map(({ check, result }: { check: string; result: string }) => [check, result]),
      );
      expect(results).toMatchObject({
        ...{ server: 'ok', durability: 'ok', replication: 'ok', connections: 'ok', time: 'ok' },
        // A server makes them, and none has started yet.
        ...{ partitions: 'warn', vacuum: 'ok', snapshots: 'ok', bloat: 'ok', events: 'ok' },
      });
      expect(run.code).toBe(0);

      await own.stop();
      await writeFile(join(own.folder, 'data', 'standby.signal'), '');
      await own.start();
      const again = await runCli(['doctor', '--offline'], {
        env: { DATABASE_URL: own.adminUrl('checked'), SECRETS_KEY: SECRETS_KEY.toString('base64') },
      });
      expect(again.stdout).toMatch(/^FAIL +server .* a standby, .* name the primary/m);
      expect(again.stdout).toMatch(/^skipped +secrets /m);
    } finally {
      await own.remove();
    }
  });
});
