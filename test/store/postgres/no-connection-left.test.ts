import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { eventually } from '../../support/eventually.ts';
import { deliver, notification, SECRET, WEBHOOK } from '../../support/genuine.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { receiversForEachTest, storeWith } from '../../support/receiver-fixture.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';

const CLIENTS = 12;
/** Of one receiver at once. */
const MOST_WAITING = 4;

await describeWithPostgres('a receiver without a connection to PostgreSQL', (server) => {
  const start = receiversForEachTest();
  let name: string;
  let store: PostgresStore;
  beforeEach(async () => {
    name = await createDatabase(server);
    store = await PostgresStore.open({
      ...{
        url: server.url(name),
        clock: systemClock,
        secretsKey: SECRETS_KEY,
        connections: 2,
        tidies: false,
      },
    });
    await store.addSecret(WEBHOOK, SECRET);
  });
  afterEach(async () => {
    await store.close();
    await dropDatabase(server, name);
  });
  const asAdmin = (use: (admin: pg.Client) => Promise<unknown>) => connected(server.adminUrl(name), use);
  let count = 0;
  const next = () => notification({ media_id: `media-${count++}` });

  test('answers 503 with Retry-After at once, when the server has none left, and records again, when it has', async () => {
    const { app } = await start({ wrap: () => store });
    await asAdmin(async (admin) => {
      await admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT 0`);
      const ours = `FROM pg_stat_activity WHERE datname = '${name}' AND application_name = 'hookkit'`;
      await admin.query(`SELECT pg_terminate_backend(pid) ${ours}`);
      await eventually(
        'the connections have ended',
        async () => (await admin.query(`SELECT ${ours}`)).rowCount === 0,
      );
    });
    const refused = await Promise.all(Array.from({ length: CLIENTS }, () => deliver(app, next())));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 503));
    for (const { headers } of refused) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
    await asAdmin((admin) => admin.query(`ALTER DATABASE ${name} CONNECTION LIMIT -1`));
    expect((await deliver(app, next())).status).toBe(200);
    expect(await store.count({})).toBe(1);
  });

  test('answers 503 to what is beyond MAX_WAITING_ACKS, when all of its own are in use, and records the others', async () => {
    let waiting = 0;
    const counted = storeWith(store, {
      record: (...given) => {
        waiting++;
        return store.record(...given);
      },
    });
    const { app } = await start({ wrap: () => counted, options: { maxWaitingAcks: MOST_WAITING } });
    await asAdmin(async (admin) => {
      await admin.query('BEGIN; LOCK TABLE hookkit.ledger IN ACCESS EXCLUSIVE MODE');
      const first = Array.from({ length: MOST_WAITING }, () => deliver(app, next()));
      const answers = Promise.all(first);
      await eventually('as many wait as may', () => waiting === MOST_WAITING);
      const others = await Promise.all(Array.from({ length: CLIENTS }, () => deliver(app, next())));
      expect(others.map(({ status }) => status)).toEqual(others.map(() => 503));
      for (const { headers } of others) expect(headers['retry-after']).toMatch(/^[1-9]\d*$/);
      expect(waiting).toBe(MOST_WAITING);
      await admin.query('ROLLBACK');
      for (const { status } of await answers) expect([200, 503]).toContain(status);
    });
    await eventually('it records again', async () => (await deliver(app, next())).status === 200);
  });
});
