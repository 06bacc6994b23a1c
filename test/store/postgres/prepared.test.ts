import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Session } from '../../../src/store/postgres/session.ts';
import { claims, HANDLED, settleAll } from '../../support/claiming.ts';
import { eventually } from '../../support/eventually.ts';
import { insertPostgresEvents } from '../../support/insert-postgres-events.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { size } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

const FREQUENT = { isFrequent: true };

await describeWithPostgres('statements that stay prepared in PostgreSQL', (server) => {
  let name: string;
  let admin: pg.Client;
  let store: PostgresStore;
  let database: Database;
  const clock = new VirtualClock();
  let count = 0;
  beforeAll(async () => {
    name = await createDatabase(server);
    admin = new pg.Client(server.adminUrl(name));
    await admin.connect();
    store = await PostgresStore.open({
      url: server.url(name),
      clock,
      timeOfDatabase: clock, // nothing is taken into work but by claims
      secretsKey: SECRETS_KEY,
      connections: 2,
      tidies: false,
    });
    database = new Database({ url: server.url(name), connections: 1, name: 'test' });
  });
  afterAll(async () => {
    await store.close();
    await database.close();
    await admin.end();
    await dropDatabase(server, name);
  });

  /** What a server does again and again. */
  const handleAll = async (events: number) => {
    const media = Array.from({ length: events }, () => verified({ media_id: `media-${count++}` }));
    for (const one of media) await store.record(one);
    expect(await settleAll(store, HANDLED)).toBe(events);
  };
  const prepared = async () => {
    const [row] = await database.frequent.rows<{ names: number }>(
      'SELECT count(*)::integer AS names FROM pg_prepared_statements',
    );
    return row?.names;
  };

  test('are made once for each connection', async () => {
    for (let times = 0; times < 3; times++)
      await database.transaction(
        (session) => session.rows('SELECT $1::integer AS number', [times]),
        FREQUENT,
      );
    expect(await prepared()).toBe(2);
  });

  test('are made again, when another version of the program has changed the tables', async () => {
    await handleAll(10);
    for (const table of ['ledger', 'work', 'lanes', 'results'])
      await admin.query(`ALTER TABLE hookkit.${table} ADD COLUMN added text`);
    await handleAll(10);
  });

  test('are made no more, once a connection has lost one, as when a pooler in between lends another', async () => {
    const one = (session: Session) => session.rows<{ number: number }>('SELECT $1::integer AS number', [1]);
    await database.transaction(one, FREQUENT);
    await database.statements.script('DEALLOCATE ALL');
    expect(await database.transaction(one, FREQUENT)).toEqual([{ number: 1 }]);
    expect(await database.frequent.rows('SELECT $1::integer AS number', [2])).toEqual([{ number: 2 }]);
    expect(await prepared()).toBe(0);
  });

  test('are executed up to the end of their transaction, whatever goes on in parallel when one fails', async () => {
    await admin.query('CREATE TABLE noted (number integer); GRANT ALL ON noted TO PUBLIC');
    let fail = () => {};
    const failed = new Promise<void>((resolve) => {
      fail = resolve;
    });
    let late: Promise<unknown> | undefined;
    const transaction = database.transaction((session) => {
      const goesOn = async () => {
        await session.rows('SELECT 1');
        await failed;
        await session.rows('INSERT INTO noted VALUES (1)');
      };
      late = goesOn();
      return Promise.all([late, session.rows('SELECT 1 / 0')]);
    });
    await expect(transaction).rejects.toThrow('division by zero');
    fail();
    await expect(late).rejects.toThrow('the transaction has ended');
    expect((await admin.query('SELECT FROM noted')).rowCount).toBe(0);
  });

  test('are looked up by keys, when the tables were empty as they were made and have grown since', async () => {
    for (let times = 0; times < 8; times++) await handleAll(1);
    await admin.query('VACUUM ANALYZE hookkit.ledger, hookkit.work, hookkit.lanes, hookkit.results');
    await handleAll(1);
    const events = size({ small: 20_000, full: 200_000 });
    const session = {
      rows: async () => [],
      script: async (sql: string) => void (await admin.query(sql)),
    };
    await insertPostgresEvents(
      session,
      `SELECT 1000 + n AS event, n AS event_time, 'media_available' AS kind, 'media:' || (n % 5000) AS resource,
         'site0001' AS site_id, n AS received_at, CASE WHEN n % 4 = 0 THEN 'pending' ELSE 'handled' END AS status,
         CASE WHEN n % 8 = 0 THEN 9000000000000000 END AS next_attempt_at, '{}' AS body
       FROM generate_series(1, ${events}) AS n`,
      1000 + events,
    );
    for (let times = 0; times < 8; times++) {
      await store.record(verified({ media_id: `grown-${times}` }));
      const claimed = await claims(store, { limit: 4, newest: 2 });
      expect(claimed).toHaveLength(4);
      for (const claim of claimed) expect(await store.settle(claim, 'one', HANDLED)).toBe(true);
    }
    await store.close(); // what a connection has read is counted at its end at the latest
    await eventually('all connections have ended', async () => {
      const { rowCount } = await admin.query(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hookkit'",
      );
      return rowCount === 0;
    });
    const { rows } = await admin.query<{ read: number }>(
      `SELECT sum(seq_tup_read + (
           SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes AS index WHERE index.relid = tables.relid
         ))::integer AS read FROM pg_stat_user_tables AS tables
       WHERE relname IN ('ledger', 'work', 'lanes', 'results', 'repeats', 'steps', 'state')`,
    );
    expect(rows[0]?.read).toBeLessThan(events / 4);
  });
});
