import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import type { Logger } from 'pino';
import { systemClock } from '../../../src/base/clock.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openForServer } from '../../../src/store/open.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { eventually } from '../../support/eventually.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { letUse, workAsGuest } from '../../support/postgres-guest.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

const DAY_MS = 86_400_000;

await describeWithPostgres('the care of tables in PostgreSQL', (server) => {
  let name: string;
  let admin: pg.Client;
  let clock: VirtualClock;
  const stores: EventStore[] = [];
  beforeAll(async () => {
    name = await createDatabase(server);
    admin = new pg.Client(server.adminUrl(name));
    await admin.connect();
    clock = new VirtualClock();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await admin.end();
    await dropDatabase(server, name);
  });
  const open = async () => {
    const store = await PostgresStore.open({
      url: server.url(name),
      clock,
      timeOfDatabase: clock,
      secretsKey: SECRETS_KEY,
      connections: 2,
    });
    stores.push(store);
    return store;
  };
  const column = async (sql: string) => (await admin.query({ text: sql, rowMode: 'array' })).rows.flat();
  const partitions = (table: string) =>
    column(
      `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'hookkit.${table}'::regclass ORDER BY 1`,
    );
  const months = (table: string, at: number) =>
    [0, 1, 2].map((ahead) => {
      const date = new Date(at);
      const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + ahead))
        .toISOString()
        .slice(0, 7);
      return `hookkit.${table}_${month.replace('-', '_')}`;
    });

  test('makes the partitions of this month and the next two, when processes start, whichever is first', async () => {
    await Promise.all([open(), open()]);
    for (const table of ['bodies', 'attempts'])
      expect(await partitions(table)).toEqual(expect.arrayContaining(months(table, clock.now())));
  });

  test('puts what was received into the partition of its month, when it has one, and elsewhere when not', async () => {
    const [store] = stores;
    await store?.record(verified({ media_id: 'now' }));
    await store?.record(verified({ media_id: 'long-ago' }), clock.now() - 400 * DAY_MS);
    const [present] = months('bodies', clock.now());
    expect(await column(`SELECT count(*)::integer FROM ${present}`)).toEqual([1]);
    expect(await column('SELECT count(*)::integer FROM hookkit.bodies_other')).toEqual([1]);
    const all = (await store?.events({}, { limit: 10 })) ?? [];
    expect(all.map(({ body }) => body !== undefined)).toEqual([true, true]);
  });

  test('makes those of later months, when time goes on', async () => {
    clock.leap(clock.now() + 40 * DAY_MS);
    const later = months('bodies', clock.now());
    await eventually('the partitions are there', async () => {
      clock.leap(clock.now() + 5000);
      const there = await partitions('bodies');
      return later.every((one) => there.includes(one));
    });
  });

  test('leaves one row for a kind and status, when many commits changed them, with the same sum', async () => {
    const [store] = stores;
    for (let number = 0; number < 20; number++) {
      await store?.record(verified({ media_id: `media-${number}` }));
      await clock.advance(300); // is taken into work
    }
    await eventually('the tallies are summed up', async () => {
      await clock.advance(5000);
      const [rows] = await column('SELECT count(*)::integer FROM hookkit.tallies');
      return rows === 1;
    });
    expect(await column('SELECT sum(events)::integer FROM hookkit.tallies')).toEqual([22]);
  });
});

await describeWithPostgres('the time of PostgreSQL', (server) => {
  let name: string;
  beforeAll(async () => {
    name = await createDatabase(server);
  });
  afterAll(() => dropDatabase(server, name));

  test('is that of the server, when the clock of this machine is a day behind and stands', async () => {
    const store = await PostgresStore.open({
      url: server.url(name),
      clock: { ...systemClock, now: () => Date.now() - DAY_MS },
      secretsKey: SECRETS_KEY,
      connections: 2,
      tidies: false,
    });
    await store.record(verified({ media_id: 'now' }));
    const [event] = await store.events({}, { limit: 1 });
    const { now } = await store.clock();
    await store.close();
    // The server runs on this machine, and a minute is far from a day.
    expect(Math.abs(now - Date.now())).toBeLessThan(60_000);
    expect(Math.abs((event?.receivedAt ?? 0) - Date.now())).toBeLessThan(60_000);
  });
});

await describeWithPostgres('what only an administrator of PostgreSQL can mend', (server) => {
  const open = (url: string, troubles: string[]) => {
    const warn = ({ reason }: { readonly reason: string }, message: string) =>
      message === 'the database needs care' && troubles.push(reason);
    const log = { warn } as unknown as Pick<Logger, 'warn'>;
    const settings = { DATABASE_URL: url, SECRETS_KEY, DATABASE_POOL: 2 };
    return openForServer(settings, { clock: systemClock, log });
  };

  test('is in the log at the start: a server that does not write to its disk, and partitions that the role may not make', async () => {
    await workAsGuest(server, { isEmpty: false }, async (guest) => {
      await letUse(guest);
      const troubles: string[] = [];
      await (await open(guest.url, troubles)).close();
      // The template has the partitions of another time. Servers of tests need not outlast a power cut.
      const [row] = (await guest.admin.query<{ fsync: string }>('SHOW fsync')).rows;
      expect(troubles).toEqual([
        expect.stringMatching(
          /^hookkit\.bodies_\d{4}_\d\d cannot be made: .*make the role of DATABASE_URL their owner/,
        ),
        ...(row?.fsync === 'on' ? [] : [expect.stringMatching(/^fsync is not on/)]),
      ]);
    });
  });

  test('is not needed to give the tables of secrets new files, when they are of the own role', async () => {
    await workAsGuest(server, { isEmpty: true }, async (guest) => {
      const database = new URL(guest.url).pathname.slice(1);
      await guest.admin.query(`GRANT CREATE ON DATABASE ${database} TO ${guest.role}`);
      const store = await open(guest.url, []);
      const files = async () =>
        (
          await guest.admin.query<{ secrets: string; meta: string }>(
            "SELECT pg_relation_filenode('hookkit.secrets') AS secrets, pg_relation_filenode('hookkit.meta') AS meta",
          )
        ).rows[0];
      const before = await files();
      await store.scrub();
      const after = await files();
      expect(after?.secrets).not.toBe(before?.secrets);
      expect(after?.meta).not.toBe(before?.meta);
      await store.close();
    });
  });

  test('is what keeps old secrets in their file, when the tables are of another role', async () => {
    await workAsGuest(server, { isEmpty: false }, async (guest) => {
      await letUse(guest);
      const store = await open(guest.url, []);
      await expect(store.scrub()).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('only the owner of hookkit.secrets can rewrite it'),
      });
      await store.close();
    });
  });
});
