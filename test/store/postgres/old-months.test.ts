import { afterEach, expect, test } from '@jest/globals';
import pg from 'pg';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { refuseWrites } from '../../../src/store/postgres/tables/refused-writes.ts';
import { claimOne, DEAD, doSteps, HANDLED, settleAll } from '../../support/claiming.ts';
import { only } from '../../support/only.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { verified } from '../../support/verified-notification.ts';

const HOUR_MS = 3_600_000;
const JANUARY = Date.UTC(2026, 0, 10);
const FEBRUARY = Date.UTC(2026, 1, 10);
const STEP = 2;

await describeWithPostgres('a month in which retention keeps nothing', (server) => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  /** Events of January and one of February, all of them handled, some with steps. */
  async function stage(tidies = true) {
    const name = await createDatabase(server);
    ends.push(() => dropDatabase(server, name));
    const admin = new pg.Client(server.adminUrl(name));
    await admin.connect();
    ends.push(() => admin.end());
    // The template has the months in which it was made.
    for (const partition of await partitions()) await admin.query(`DROP TABLE hookkit.${partition}`);
    const clock = new VirtualClock(JANUARY);
    // Partitions are made at the start only.
    const time = { now: () => clock.now(), after: () => () => {} };
    const open = async () => {
      const store = await PostgresStore.open({
        url: server.url(name),
        clock: { ...time, monotonic: time.now },
        timeOfDatabase: time,
        secretsKey: SECRETS_KEY,
        connections: 3,
        tidies,
      });
      ends.push(() => store.close());
      return store;
    };
    const store = await open();
    const record = async (name: string) => (await store.record(verified({ media_id: name }))).id;
    await doSteps(store, await record('with steps'), { announce: '1' });
    for (const name of ['one', 'two', 'three']) await record(name);
    await settleAll(store, HANDLED);
    clock.leap(FEBRUARY);
    await record('of february');
    await settleAll(store, HANDLED);
    async function partitions(): Promise<readonly string[]> {
      const { rows } = await admin.query<{ name: string }>(
        `SELECT relname AS name FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
         WHERE relname ~ '^(bodies|attempts)_[0-9_]+$' ORDER BY 1`,
      );
      return rows.map((row) => row.name);
    }
    /** What a reader sees of all events. */
    const seen = async () => {
      const events = await store.events({}, { limit: 100 });
      return Promise.all(
        events.map(async (event) => [event, await store.attempts(event.id), await store.steps(event.id)]),
      );
    };
    const pruneAll = async (handledBefore: number, by = store) => {
      const steps: number[] = [];
      for (let pruned = STEP; pruned >= STEP; steps.push(pruned))
        pruned = await by.prune(handledBefore, STEP);
      return steps;
    };
    return { url: server.url(name), store, open, admin, clock, record, partitions, seen, pruneAll };
  }

  test('goes as a whole, when all of it ended before the time, and what is left of its events is the same as without partitions', async () => {
    const [whole, byRows] = [await stage(), await stage(false)];
    expect(await byRows.partitions()).toEqual([]);
    expect(await whole.pruneAll(whole.clock.now() - HOUR_MS)).toEqual([2 * STEP, 0]);
    expect(await byRows.pruneAll(byRows.clock.now() - HOUR_MS)).toEqual([STEP, STEP, 0]);
    for (const { store } of [whole, byRows]) {
      expect(await store.record(verified({ media_id: 'one' }))).toMatchObject({ status: 'duplicate' });
      expect(await store.replay({})).toBe(1);
    }
    expect((await whole.partitions()).filter((name) => name.endsWith('_01'))).toEqual([]);
    expect((await whole.partitions()).filter((name) => name.endsWith('_02'))).toHaveLength(2);
    expect(await whole.seen()).toEqual(await byRows.seen());
  });

  test('shows no body at once, and everything else is removed by whoever comes next, when a process ends after the drop', async () => {
    const { store, open, admin, clock, partitions, seen, pruneAll } = await stage();
    await admin.query('BEGIN');
    await admin.query('SELECT FROM hookkit.results FOR UPDATE'); // so no step gets them
    expect(await store.prune(clock.now() - HOUR_MS, STEP)).toBe(0);
    await admin.query('ROLLBACK');
    expect((await partitions()).filter((name) => name.endsWith('_01'))).toEqual([]);
    expect((await seen()).filter(([event]) => 'body' in Object(event) && Object(event).body)).toHaveLength(1);
    await store.close();
    const next = await open();
    expect(await pruneAll(clock.now() - HOUR_MS, next)).toEqual([STEP, STEP, 0]);
    expect(
      await next.steps(only(await next.events({ resource: 'media:with steps' }, { limit: 1 })).id),
    ).toEqual([]);
  });

  test('stays, when everything was moved away meanwhile', async () => {
    const { url, store, clock, partitions, seen } = await stage();
    const [before, months] = [await seen(), await partitions()];
    const database = new Database({ url, connections: 1, name: 'hookkit move 1' });
    await database.transaction((session) => refuseWrites(session, 'it was moved'));
    await expect(store.prune(clock.now() - HOUR_MS, STEP)).rejects.toThrow('it was moved');
    expect(await partitions()).toEqual(months);
    expect(await seen()).toEqual(before);
    await database.close();
  });

  test.each<[string, (given: Awaited<ReturnType<typeof stage>>) => Promise<unknown>]>([
    [
      'one was dead',
      async ({ store }) => {
        await store.record(verified({ media_id: 'dead' }), JANUARY);
        await store.settle(await claimOne(store), 'one', DEAD);
      },
    ],
    [
      'one was replayed and waits',
      async ({ store, seen }) => {
        const [[event] = []] = (await seen()).slice(-1);
        expect(await store.replay({ ids: [Object(event).id] })).toBe(1);
      },
    ],
    [
      'one was admitted with a time of then',
      ({ store }) => store.record(verified({ media_id: 'late' }), JANUARY),
    ],
  ])('stays, and the others lose their bodies, when %s', async (_, revive) => {
    const given = await stage();
    await revive(given);
    const { clock, partitions, admin, pruneAll } = given;
    await pruneAll(clock.now() - HOUR_MS);
    expect(await partitions()).toContain('bodies_2026_01');
    const { rows } = await admin.query('SELECT count(*)::integer AS left FROM hookkit.bodies_2026_01');
    expect(rows).toEqual([{ left: 1 }]);
  });

  test('goes in a later round, when a long query reads it, and acks go on beside that query', async () => {
    const { store, admin, clock, record, partitions, pruneAll } = await stage();
    await admin.query('BEGIN');
    await admin.query('SELECT count(*) FROM hookkit.bodies');
    const pruned = pruneAll(clock.now() - 2 * HOUR_MS);
    await record('meanwhile');
    expect(await pruned).toEqual([STEP, STEP, 0]);
    expect(await partitions()).toContain('bodies_2026_01');
    await admin.query('COMMIT');
    await store.prune(clock.now() - HOUR_MS, STEP);
    expect(await partitions()).not.toContain('bodies_2026_01');
  });

  test('goes with the next round at the latest, when two processes prune at the same moment, and both remove what they should', async () => {
    const { store, open, clock, partitions, pruneAll } = await stage();
    const other = await open();
    const at = clock.now() - HOUR_MS;
    await Promise.all([pruneAll(at), pruneAll(at, other)]);
    // They may have been in each other's way.
    await (await open()).prune(at, STEP);
    expect((await partitions()).filter((name) => name.endsWith('_01'))).toEqual([]);
    expect((await store.events({}, { limit: 10 })).filter(({ body }) => body !== undefined)).toHaveLength(1);
  });
});
