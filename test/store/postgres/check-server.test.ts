import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import type { Finding } from '../../../src/base/finding.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { type Here, judge, readFacts, type ServerFacts } from '../../../src/store/postgres/check-server.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { makePartitions, partitionsOf } from '../../../src/store/postgres/partitions.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { eventually } from '../../support/eventually.ts';
import { only } from '../../support/only.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { type Guest, workAsGuest } from '../../support/postgres-guest.ts';
import { startPostgres, startStandby } from '../../support/postgres-server.ts';
import { runCli, spawnCli } from '../../support/run-cli.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { atFullSize } from '../../support/sizes.ts';

const MIB = 2 ** 20;

/** A server of which nothing is to be said. */
const WELL: ServerFacts = {
  version: '18.1',
  versionNumber: 180_001,
  encoding: 'UTF8',
  schemaVersion: 1,
  mayMake: true,
  refused: [],
  readOnly: 'off',
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
  hotTables: [
    { name: 'work', dead: 100_000, live: 3, tableBytes: 28 * MIB, indexBytes: 100 * MIB },
    // A backlog, each event with an error as long as a row may be.
    { name: 'lanes', dead: 0, live: 1_000_000, tableBytes: 3000 * MIB, indexBytes: 500 * MIB },
  ],
};
const hot = (changed: Partial<ServerFacts['hotTables'][number]>) => ({
  ...{ name: 'work', dead: 0, live: 3, tableBytes: MIB, indexBytes: MIB },
  ...changed,
});
const HERE: Here = { now: WELL.now, uncertainty: 0, connections: 10 };
const STANDBY = { name: 'two', state: 'streaming', sync: 'sync', lagSeconds: null, lagBytes: 0 };
const LONG = {
  ...{ who: 'the transaction of pid 7', end: 'SELECT pg_terminate_backend(7)' },
  ...{ seconds: 301, age: 5 },
};
const OF_STANDBY = {
  ...{ who: 'a transaction on the standby two', end: 'set hot_standby_feedback = off there' },
  ...{ seconds: null, age: 200_001 },
};

const problems = (facts: Partial<ServerFacts>, here: Partial<Here> = {}) =>
  judge({ ...WELL, ...facts }, { ...HERE, ...here }).filter(({ result }) => result !== 'ok');

test('has nothing to say of a server, when all is well', () => {
  expect(problems({})).toEqual([]);
  expect(problems({ synchronousStandbys: 'two', standbys: [STANDBY] })).toEqual([]);
  expect(problems({ oldest: { ...LONG, seconds: 300 } }, { now: WELL.now - 1000 })).toEqual([]);
  expect(problems({ oldest: { ...OF_STANDBY, age: 200_000 } })).toEqual([]);
});

test.each<[string, string, string, Partial<ServerFacts>, Partial<Here>?]>([
  ['the server is too old', 'FAIL', 'upgrade it', { versionNumber: 130_022 }],
  ['the database has another encoding', 'FAIL', "ENCODING 'UTF8'", { encoding: 'LATIN1' }],
  ['the schema is newer than the program', 'FAIL', 'run the newer program', { schemaVersion: 1000 }],
  [
    'the role may not write a table',
    'FAIL',
    'not use work: make the role of DATABASE_URL their owner',
    { refused: ['work'] },
  ],
  ['transactions may not write', 'FAIL', 'default_transaction_read_only = off', { readOnly: 'on' }],
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
  [
    'rows of this month are where they keep its partition from being made',
    'warn',
    'cannot be made while hookkit.bodies_other has rows of those months',
    { strays: ['hookkit.bodies_other'], partitions: [] },
  ],
  [
    'a standby holds a snapshot',
    'warn',
    'a transaction on the standby two is open for 200001 transactions',
    { oldest: OF_STANDBY },
  ],
  ['the pool is larger than the server', 'FAIL', 'lower DATABASE_POOL', {}, { connections: 98 }],
  ['the pool is larger than the role may have', 'FAIL', 'a limit of 9', { connectionLimit: 9 }],
  ['other programs have the connections', 'warn', 'no room', { connected: 88 }],
  ['this machine is behind', 'warn', '1.1 s behind', {}, { now: WELL.now - 1100 }],
  ['this machine is ahead', 'warn', '2.0 s ahead', {}, { now: WELL.now + 2000 }],
  ['a transaction stays open', 'warn', 'SELECT pg_terminate_backend(7)', { oldest: LONG }],
  ['dead rows gather', 'warn', ': VACUUM hookkit.work', { hotTables: [hot({ dead: 100_001 })] }],
  [
    'a table keeps the room of rows that are gone',
    'warn',
    'work 3 rows and 0 dead in 149 MiB: a backlog or a long transaction left it so; once that has ended: VACUUM FULL hookkit.work',
    { hotTables: [hot({ tableBytes: 129 * MIB, indexBytes: 20 * MIB })] },
  ],
  [
    'the indexes of a table do',
    'warn',
    'REINDEX TABLE CONCURRENTLY hookkit.work',
    { hotTables: [hot({ tableBytes: 28 * MIB, indexBytes: 101 * MIB })] },
  ],
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
      // An empty index has one page, and lanes and work have three and four of them.
      hotTables: [
        { name: 'lanes', dead: 0, live: 0, tableBytes: 0, indexBytes: 3 * 8192 },
        { name: 'tallies', dead: 0, live: 0, tableBytes: 0, indexBytes: 0 },
        { name: 'work', dead: 0, live: 0, tableBytes: 0, indexBytes: 4 * 8192 },
      ],
    });
  });

  atFullSize(test)(
    'say what gives room back, when a table has kept that of rows that are gone, until it was done',
    async () => {
      const bloat = async () =>
        only(
          judge(await facts(), { now: systemClock.now(), uncertainty: 0, connections: 1 }).filter(
            ({ check }) => check === 'bloat',
          ),
        );
      for (const [kept, command] of [
        [700_000, 'VACUUM FULL hookkit.lanes'],
        [1, 'REINDEX TABLE CONCURRENTLY hookkit.lanes'],
      ] as const) {
        await admin.query(
          `INSERT INTO hookkit.lanes (resource, head) SELECT 'media:' || n || repeat('x', 100), n FROM generate_series(1, 700000) AS n`,
        );
        // What is at the end of a table keeps all before it.
        await admin.query(`DELETE FROM hookkit.lanes WHERE head <> ${kept}`);
        // A session tells what it has deleted up to a second later: behind the vacuum, its rows would count as dead once more.
        await admin.query('SELECT pg_stat_force_next_flush()');
        // Not while a transaction that began before is open.
        let seen = '';
        await eventually('the server knows that nothing is dead', async () => {
          await admin.query('VACUUM ANALYZE hookkit.lanes');
          seen = (await bloat()).detail;
          return seen.includes('lanes 1 rows and 0 dead');
        }).catch(async (error) => {
          const { rows } = await admin.query(
            'SELECT datname, backend_type, state, query FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid()',
          );
          throw new Error(`${error.message}: ${seen}; ${JSON.stringify(rows)}`);
        });
        const { result, detail } = await bloat();
        expect(result).toBe('warn');
        expect(detail).toMatch(/lanes 1 rows and 0 dead in \d{3} MiB/);
        expect(detail).toContain(command);
        await admin.query(command);
        expect(await bloat()).toMatchObject({ result: 'ok' });
        await admin.query('DELETE FROM hookkit.lanes');
      }
    },
    240_000,
  );

  test('count the rows of a table, when the server has lost its statistics in a crash', async () => {
    await admin.query(
      "INSERT INTO hookkit.work SELECT n, 'kind', 'media:1', n, 0, 0, 0 FROM generate_series(1, 100) AS n",
    );
    await admin.query('VACUUM ANALYZE hookkit.work');
    await admin.query("SELECT pg_stat_reset_single_table_counters('hookkit.work'::regclass)");
    const { hotTables } = await facts();
    expect(hotTables).toContainEqual(expect.objectContaining({ name: 'work', live: 100, dead: 0 }));
    await admin.query('TRUNCATE hookkit.work');
    await admin.query('VACUUM ANALYZE hookkit.work');
  });

  test('see limits of the database and tables without autovacuum, when there are some', async () => {
    await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT 7`);
    await admin.query('ALTER TABLE hookkit.work SET (autovacuum_enabled = off)');
    expect(await facts()).toMatchObject({ connectionLimit: 7, notVacuumed: ['work'] });
    await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1`);
    await admin.query('ALTER TABLE hookkit.work RESET (autovacuum_enabled)');
  });

  test.each([
    ['the role waits for this server alone', 'ROLE', 'local'],
    ['the role waits for no disk', 'ROLE', 'off'],
    ['the database waits for no disk', 'DATABASE', 'off'],
  ])('tell what a commit waits for, when %s', async (_, of, commit) => {
    const owner = new URL(server.url(name)).username;
    const whose = of === 'ROLE' ? `ROLE ${owner} IN DATABASE ${name}` : `DATABASE ${name}`;
    await admin.query(`ALTER ${whose} SET synchronous_commit = ${commit}`);
    const again = new Database({ url: server.url(name), connections: 1, name: 'again' });
    try {
      for (const isReadOnly of [false, true]) {
        const read = await again.transaction((session) => readFacts(session, systemClock), { isReadOnly });
        expect(read.facts.synchronousCommit).toBe(commit);
      }
    } finally {
      await again.close();
      await admin.query(`ALTER ${whose} RESET synchronous_commit`);
    }
  });

  test('say whose limit it is, when the database may have no more connections', async () => {
    await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
    const open = PostgresStore.open({ url: server.url(name), clock: systemClock, secretsKey: SECRETS_KEY });
    await expect(open).rejects.toThrow(/the database may have no more connections: .*ALTER DATABASE/);
    await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1`);
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

  test('say why the partition of this month cannot be made, when its rows came before it', async () => {
    const now = systemClock.now();
    for (const partition of partitionsOf(now, 0)) await admin.query(`DROP TABLE IF EXISTS ${partition}`);
    await admin.query("INSERT INTO hookkit.bodies VALUES (1, $1, '')", [now]);
    expect(await makePartitions(database, now)).toMatch(
      /^hookkit\.bodies_\d{4}_\d\d cannot be made: hookkit\.bodies_other has rows of that month; nothing is lost/,
    );
    await admin.query('DELETE FROM hookkit.bodies');
    expect(await makePartitions(database, now)).toBeUndefined();
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

    const of = (check: string, { findings }: { findings: readonly Finding[] }) =>
      findings
        .filter((finding) => finding.check === check)
        .map(({ result, detail }) => `${result} ${detail}`);
    const serve = (url: string) =>
      spawnCli(['serve'], { env: { DATABASE_URL: url, SECRETS_KEY: SECRETS_KEY.toString('base64') } });

    const asGuest = (options: { readonly isEmpty: boolean }, work: (guest: Guest) => Promise<void>) =>
      workAsGuest(server, options, work);

    test('ask for the key, when there are no tables yet, and when there is no server', async () => {
      await asGuest({ isEmpty: true }, async ({ url }) => {
        const nowhere = Object.assign(new URL(url), { port: '1' }).href;
        for (const place of [url, nowhere]) {
          const run = await doctor(place, { SECRETS_KEY: '' });
          expect(of('secrets', run)).toEqual([
            expect.stringMatching(/^FAIL SECRETS_KEY is not set.*openssl/),
          ]);
          expect(run.code).toBe(1);
        }
      });
    });

    atFullSize(test)(
      'say as the start does what to grant, when the role may not make the schema, and are content once it may',
      async () => {
        await asGuest({ isEmpty: true }, async ({ url, role, admin: owner }) => {
          const run = await doctor(url);
          expect(of('database', run)).toEqual([
            expect.stringMatching(/^FAIL .*GRANT CREATE ON DATABASE.*CREATE SCHEMA hookkit AUTHORIZATION/),
          ]);
          const { code, stderr } = await serve(url);
          expect({ code, stderr }).toEqual({
            code: 1,
            stderr: expect.stringMatching(
              /permission denied for the database: GRANT CREATE ON DATABASE.*\(42501\)/,
            ),
          });
          await owner.query('CREATE SCHEMA hookkit');
          expect(of('database', await doctor(url))).toEqual([
            expect.stringMatching(/^FAIL .*make the role of DATABASE_URL their owner/),
          ]);
          await owner.query(`ALTER SCHEMA hookkit OWNER TO ${role}`);
          expect(of('database', await doctor(url))).toEqual([
            expect.stringMatching(/^warn .*the first start makes/),
          ]);
          const options = { url, clock: systemClock, secretsKey: SECRETS_KEY, tidies: false };
          await (await PostgresStore.open(options)).close();
          expect(of('database', await doctor(url))).toEqual([expect.stringMatching(/^ok /)]);
        });
      },
    );

    test('say as the start does what to grant, when the tables are of another role', async () => {
      await asGuest({ isEmpty: false }, async ({ url, role, admin: owner }) => {
        const failing = expect.stringMatching(/^FAIL .*make the role of DATABASE_URL their owner/);
        expect(of('database', await doctor(url))).toEqual([failing]);
        await owner.query(`GRANT USAGE ON SCHEMA hookkit TO ${role}`);
        expect(of('database', await doctor(url))).toEqual([failing]);
        await owner.query(`GRANT SELECT ON ALL TABLES IN SCHEMA hookkit TO ${role}`);
        const run = await doctor(url);
        expect(of('database', run)).toEqual([failing]);
        expect(of('database', run)).toEqual([expect.stringContaining('may not use attempts, bodies,')]);
        expect((await serve(url)).stderr).toMatch(
          /permission denied for table .*: make the role of DATABASE_URL their owner.*\(42501\)/,
        );
        await owner.query(`GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hookkit TO ${role}`);
        expect(of('database', await doctor(url))).toEqual([
          expect.stringContaining('may not use ledger_event_seq, quarantine_id_seq:'),
        ]);
        await owner.query(`GRANT USAGE ON ALL SEQUENCES IN SCHEMA hookkit TO ${role}`);
        await owner.query('CREATE TABLE hookkit.of_somebody_else (number serial)');
        expect(of('database', await doctor(url))).toEqual([expect.stringMatching(/^ok /)]);
      });
    });

    test('fail, when transactions of the database or the role may not write', async () => {
      await asGuest({ isEmpty: true }, async ({ url, role, admin: owner }) => {
        const there = new URL(url).pathname.slice(1);
        for (const whose of [`DATABASE ${there}`, `ROLE ${role}`]) {
          await owner.query(`ALTER ${whose} SET default_transaction_read_only = on`);
          const run = await doctor(url);
          expect(of('database', run)).toEqual([
            expect.stringMatching(
              /^FAIL .*takes no writes: ALTER DATABASE .* default_transaction_read_only = off/,
            ),
          ]);
          expect(run.code).toBe(1);
          await owner.query(`ALTER ${whose} RESET default_transaction_read_only`);
        }
      });
    });

    test.each([
      ['its sslmode is prefer', '5432/x?sslmode=prefer', 'sslmode'],
      ['its sslmode is empty', '5432/x?sslmode=', 'sslmode'],
      [
        'it has sslmode twice, and the last is prefer',
        '5432/x?sslmode=disable&sslmode=prefer',
        'a parameter twice',
      ],
      ['its port is too large', '99999/x', 'port'],
      ['a parameter is none that is known', '5432/x?port=99999', 'a parameter (number 1)'],
      ['its certificate is not there', '5432/x?sslmode=verify-full&sslrootcert=/none/ca.pem', '/none/ca.pem'],
    ])('go on, and the start ends with 2, when the URL is wrong: %s', async (_, rest, told) => {
      const url = `postgres://me:hunter2@127.0.0.1:${rest}`;
      const run = await doctor(url);
      expect(of('database', run)).toEqual([expect.stringMatching(/^FAIL DATABASE_URL /)]);
      expect(of('database', run)).toEqual([expect.stringContaining(told)]);
      expect(of('secrets', run)).toEqual([expect.stringMatching(/^skipped /)]);
      expect(of('url', run)).toEqual(['skipped --offline']);
      expect(run.code).toBe(1);
      const started = await runCli(['events', 'list'], {
        env: { DATABASE_URL: url, SECRETS_KEY: SECRETS_KEY.toString('base64') },
      });
      expect(started).toMatchObject({ code: 2, stderr: expect.stringContaining(told) });
      expect(run.all + started.stderr).not.toContain('hunter2');
    });

    atFullSize(test)(
      'go on, and the start of a server ends with 2, when the URL or the key is wrong',
      async () => {
        expect((await serve('postgres://me@127.0.0.1:99999/x')).code).toBe(2);
        const keyless = { DATABASE_URL: 'postgres://me@127.0.0.1/x' };
        expect((await spawnCli(['serve'], { env: keyless })).code).toBe(2);
      },
    );

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

await describeWithPostgres('the checks of a PostgreSQL server with a standby', () => {
  atFullSize(test)(
    'name what a query on the standby keeps from vacuum, when that tells the server',
    async () => {
      const primary = await startPostgres({ durable: true });
      const settings = { hot_standby_feedback: 'on', wal_receiver_status_interval: '1s' };
      const standby = await startStandby(primary, 'standby', { durable: true, settings });
      try {
        await connected(primary.adminUrl(), (admin) => admin.query('CREATE DATABASE checked'));
        const url = primary.adminUrl('checked');
        const store = await PostgresStore.open({
          url,
          clock: systemClock,
          secretsKey: SECRETS_KEY,
          tidies: false,
        });
        const database = new Database({ url, connections: 1, name: 'test' });
        await connected(standby.adminUrl(), async (reader) => {
          await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
          await reader.query('SELECT 1');
          const oldest = async () =>
            (await database.transaction((session) => readFacts(session, systemClock))).facts.oldest;
          await eventually('the server knows of it', async () => {
            await store.addSecret('webhook', String(systemClock.now()));
            return ((await oldest())?.age ?? 0) > 3;
          });
          expect(await oldest()).toMatchObject({
            who: expect.stringMatching(/^(a transaction on the standby|what the replication slot) standby/),
            seconds: null,
          });
        });
        await database.close();
        await store.close();
      } finally {
        await standby.remove();
        await primary.remove();
      }
    },
  );
});

await describeWithPostgres('the checks of a PostgreSQL server that keeps all', () => {
  atFullSize(test)(
    'find it durable, when its settings are those that it has by itself, and useless, when it is a standby',
    async () => {
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
    },
  );
});
