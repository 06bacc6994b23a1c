import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import type { Session } from '../../../src/store/postgres/session.ts';
import { claims, HANDLED } from '../../support/claiming.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { atFullSize } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

/** What holds for each statement, as the server says it. */
const LIMITS = {
  statement_timeout: '15s',
  lock_timeout: '5s',
  idle_in_transaction_session_timeout: '3s',
};
const IN_FORCE = `SELECT ${Object.keys(LIMITS)
  .map((name) => `current_setting('${name}') AS ${name}`)
  .join(', ')}`;

/** The ways in which the store has statements executed. */
const WAYS: Readonly<
  Record<string, (database: Database, use: (session: Session) => Promise<unknown>) => Promise<unknown>>
> = {
  'a single statement': (database, use) => use(database.statements),
  'a frequent one': (database, use) => use(database.frequent),
  'a transaction': (database, use) => database.transaction(use),
  'one whose statements stay prepared': (database, use) => database.transaction(use, { isFrequent: true }),
  'one that only reads': (database, use) => database.transaction(use, { isReadOnly: true, isByKeys: true }),
  'one that need not be durable': (database, use) => database.transaction(use, { isDurable: false }),
};

await describeWithPostgres('the limits of statements', (server) => {
  let name: string;
  let database: Database;
  beforeEach(async () => {
    name = await createDatabase(server);
    database = new Database({ url: server.url(name), connections: 8, name: 'test' });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await database.close();
    await dropDatabase(server, name);
  });

  test.each(Object.keys(WAYS))('are in force, when it is %s', async (way) => {
    const ask = (session: Session) => session.rows(IN_FORCE);
    expect(await WAYS[way]?.(database, ask)).toEqual([LIMITS]);
  });

  test('are in force for a script of single statements', async () => {
    await database.statements.script(`CREATE TEMPORARY TABLE seen AS ${IN_FORCE}`);
    // The connection that was used last is lent next.
    expect(await database.statements.rows('SELECT * FROM seen')).toEqual([LIMITS]);
  });

  test('go with each transaction that a store sends, and none is set for a session, whatever it does', async () => {
    const sent = jest.spyOn(pg.Client.prototype, 'query');
    await connected(server.adminUrl(name), (admin) => admin.query('DROP SCHEMA hookkit CASCADE'));
    sent.mockClear();
    const store = await PostgresStore.open({
      ...{ url: server.url(name), clock: systemClock, secretsKey: SECRETS_KEY, connections: 2 },
    });
    await store.record(verified());
    for (const claim of await claims(store)) expect(await store.settle(claim, 'one', HANDLED)).toBe(true);
    await store.ping();
    await store.prune(systemClock.now(), 1);
    await store.events({}, { limit: 1 });
    await store.scrub();
    await store.close();
    const limited = new Set<unknown>();
    const without: string[] = [];
    for (const [at, [statement]] of sent.mock.calls.entries()) {
      const client = sent.mock.contexts[at];
      const text = typeof statement === 'string' ? statement : (statement as pg.QueryConfig).text;
      const hasLimits = Object.entries(LIMITS).every(([one, is]) =>
        text.includes(`SET LOCAL ${one} = '${is}'`),
      );
      if (text.startsWith('BEGIN') && hasLimits) limited.add(client);
      else if (!limited.has(client) && !hasLimits) without.push(text);
      if (/(?:^|;)\s*SET (?!LOCAL\b)/.test(text)) without.push(text);
      if (text === 'COMMIT' || text === 'ROLLBACK') limited.delete(client);
    }
    expect(without).toEqual([]);
  });

  atFullSize(test)(
    'end what waits for a lock, goes on for long or stands still',
    async () => {
      const held = connected(server.adminUrl(name), async (admin) => {
        await admin.query('BEGIN; LOCK TABLE hookkit.meta');
        const waits = Object.values(WAYS).map((way) =>
          expect(way(database, (session) => session.rows('SELECT FROM hookkit.meta'))).rejects.toMatchObject({
            code: '55P03',
          }),
        );
        await Promise.all(waits);
      });
      const other = new Database({ url: server.url(name), connections: 4, name: 'test' });
      try {
        const isLong = { code: '57014' };
        await Promise.all([
          held,
          expect(other.statements.rows('SELECT pg_sleep(20)')).rejects.toMatchObject(isLong),
          expect(other.transaction((session) => session.rows('SELECT pg_sleep(20)'))).rejects.toMatchObject(
            isLong,
          ),
          expect(
            other.transaction(async (session) => {
              await session.rows('SELECT 1');
              await new Promise((resolve) => setTimeout(resolve, 4000));
              await session.rows('SELECT 1');
            }),
          ).rejects.toThrow(/idle-in-transaction|terminated|connection/i),
        ]);
      } finally {
        await other.close();
      }
    },
    60_000,
  );
});
