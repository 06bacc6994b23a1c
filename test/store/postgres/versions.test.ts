import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { newOwner } from '../../../src/store/owner.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { claims, HANDLED } from '../../support/claiming.ts';
import { eventually } from '../../support/eventually.ts';
import { copyNextVersion, NEXT_SCHEMA } from '../../support/next-version.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

type Version = typeof PostgresStore;

await describeWithPostgres('stores of a version and of the next one, on one database', (server) => {
  let copy: string;
  let Next: Version;
  let name: string;
  let clock: VirtualClock;
  let opened: PostgresStore[];
  let now: PostgresStore;

  beforeAll(async () => {
    copy = copyNextVersion({ name: 'next-store' });
    ({ PostgresStore: Next } = await import(join(copy, 'src/store/postgres/postgres-store.ts')));
  });
  afterAll(() => rmSync(copy, { recursive: true }));

  beforeEach(async () => {
    name = await createDatabase(server);
    clock = new VirtualClock();
    opened = [];
    now = await open(PostgresStore);
  });
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()));
    await dropDatabase(server, name);
  });

  /** @param patience the clock by which it waits until it is open */
  async function open(version: Version, patience = clock): Promise<PostgresStore> {
    const url = server.url(name);
    const options = { secretsKey: SECRETS_KEY, connections: 2, tidies: false };
    const store = await version.open({ url, clock: patience, timeOfDatabase: clock, ...options });
    opened.push(store);
    return store;
  }

  const ask = <R extends pg.QueryResultRow>(sql: string) =>
    connected(server.adminUrl(name), async (admin) => (await admin.query<R>(sql)).rows);
  const schemaVersion = async () => {
    const [row] = await ask<{ version: number }>(
      "SELECT convert_from(value, 'UTF8')::integer AS version FROM hookkit.meta WHERE name = 'version'",
    );
    return row?.version;
  };
  const recordMedia = async (...media: readonly string[]) => {
    for (const [index, media_id] of media.entries()) {
      await now.record(verified({ media_id, at: EVENT_TIME + index }));
      await clock.advance(1);
    }
  };
  /** Has a store handle what is ready, at most so many events. @returns their resources */
  const handle = async (store: PostgresStore, instance: string, limit = 10) => {
    const owner = newOwner(instance);
    const ready = await claims(store, { owner, limit });
    for (const claim of ready) expect(await store.settle(claim, owner, HANDLED)).toBe(true);
    return ready.map(({ resource }) => resource);
  };

  test('handle the same events, when the newer one changes the schema while the older one has claims', async () => {
    await recordMedia('one', 'two', 'three', 'four');
    const owner = newOwner('older');
    const [first, second] = await claims(now, { owner, limit: 2 });
    const next = await open(Next);
    expect(await schemaVersion()).toBe(NEXT_SCHEMA);
    expect(first && (await now.settle(first, owner, HANDLED))).toBe(true);
    expect(second?.resource).toBe('media:two');
    expect(await now.renew(owner, 60_000)).toEqual([second?.id]);
    expect(await handle(next, 'newer', 1)).toEqual(['media:three']);
    expect(await handle(now, 'older')).toEqual(['media:four']);
    await clock.advance(60_000);
    expect(await handle(next, 'newer')).toEqual(['media:two']);
    for (const store of [now, next]) {
      expect(
        (await store.attempts(second?.id ?? '')).map(({ instance, outcome }) => [instance, outcome]),
      ).toEqual([
        ['older', 'lost'],
        ['newer', 'handled'],
      ]);
      expect(await store.count({ status: 'handled' })).toBe(4);
    }
    // What the newer one alone has: an end that it recorded is of its version, whoever began.
    expect(
      await ask(
        `SELECT resource, outcome, version FROM hookkit.attempts JOIN hookkit.ledger USING (event)
         ORDER BY ledger.event, attempt`,
      ),
    ).toEqual([
      { resource: 'media:one', outcome: 'handled', version: null },
      { resource: 'media:two', outcome: 'lost', version: 'next' },
      { resource: 'media:two', outcome: 'handled', version: 'next' },
      { resource: 'media:three', outcome: 'handled', version: 'next' },
      { resource: 'media:four', outcome: 'handled', version: null },
    ]);
    expect(await ask('SELECT started_by FROM hookkit.versions ORDER BY started_by')).toEqual([
      { started_by: 'next' },
      { started_by: 'next' },
      { started_by: null },
    ]);
  });

  test('keep the older one out from then on, with what to do, when it starts again', async () => {
    await open(Next);
    await expect(open(PostgresStore)).rejects.toMatchObject({
      code: 'STORE_UNUSABLE',
      message: expect.stringMatching(
        /version 2 of the schema, .* newer than this program \(1\): start the newer/,
      ),
    });
  });

  test('change the schema once, when several of the newer one start while the older one takes notifications', async () => {
    const starting = Promise.all([open(Next), open(Next), open(Next)]);
    await recordMedia(...Array.from({ length: 20 }, (_, number) => `media-${number}`));
    const [next] = await starting;
    expect(await schemaVersion()).toBe(NEXT_SCHEMA);
    expect(next && (await handle(next, 'newer', 30))).toHaveLength(20);
  });

  /** Has an open transaction read a table while the newer one starts. */
  async function whileRead(
    patience: VirtualClock,
    use: (starting: Promise<PostgresStore>, end: () => Promise<unknown>) => Promise<void>,
  ) {
    const reader = new pg.Client(server.adminUrl(name));
    await reader.connect();
    try {
      await reader.query('BEGIN; SELECT FROM hookkit.attempts');
      const starting = open(Next, patience);
      starting.catch(() => undefined); // looked at later
      await eventually('the newer one waits for the table', async () => {
        const waiting = await ask(
          "SELECT FROM pg_locks WHERE relation = 'hookkit.attempts'::regclass AND NOT granted",
        );
        return waiting.length > 0;
      });
      await use(starting, () => reader.query('COMMIT'));
    } finally {
      await reader.end();
    }
  }

  test('go on between the tries of the newer one, when a transaction is in its way, until that has ended', async () => {
    await recordMedia('one');
    const patience = new VirtualClock();
    await whileRead(patience, async (starting, end) => {
      await eventually('the newer one pauses', () => patience.nextDue() !== undefined);
      expect(await handle(now, 'older')).toEqual(['media:one']);
      await end();
      await patience.advance(1000);
      await starting;
    });
    expect(await schemaVersion()).toBe(NEXT_SCHEMA);
  });

  test('leave the schema as it is, when a transaction is in the way of the newer one for a minute, and say so', async () => {
    const patience = new VirtualClock();
    await whileRead(patience, async (starting) => {
      await patience.advance(60_000);
      await expect(starting).rejects.toMatchObject({
        code: 'STORE_UNUSABLE',
        message: expect.stringMatching(
          /an open transaction keeps its schema from being changed, .*nothing was changed$/,
        ),
      });
    });
    expect(await schemaVersion()).toBe(1);
    await recordMedia('one');
    expect(await handle(now, 'older')).toEqual(['media:one']);
  });
});
