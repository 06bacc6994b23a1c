import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import type { MonotonicClock } from '../../../src/base/clock.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { Claim } from '../../../src/store/event-store.ts';
import { Frontier } from '../../../src/store/postgres/frontier.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { REPLAYS_FROM } from '../../../src/store/semantics/lane-order.ts';
import { claims, HANDLED, LEASE_MS, request, settleAll, waiting } from '../../support/claiming.ts';
import { eventually } from '../../support/eventually.ts';
import { only } from '../../support/only.ts';
import { createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { runs } from '../../support/sizes.ts';
import { verified } from '../../support/verified-notification.ts';

const HOUR_MS = 3_600_000;
/** After two of these, no look finds by itself what was received. */
const AWHILE_MS = 3000;

/** Heads in their order: of lanes whose next event is no replay, and of the others. */
function partsOf(heads: readonly number[]) {
  const sorted = heads.toSorted((one, other) => one - other);
  return {
    live: sorted.filter((head) => head < REPLAYS_FROM),
    replayed: sorted.filter((head) => head >= REPLAYS_FROM),
  };
}
const BATCH = 16;

describe('where a look for free lanes begins', () => {
  /** A frontier that has looked along the whole index, which took long, and found nothing. */
  const looked = () => {
    const clock = new VirtualClock();
    let monotonic = 0;
    const frontier = new Frontier({
      now: () => clock.now(),
      after: () => () => undefined,
      monotonic: () => monotonic,
    });
    const first = frontier.begin();
    first.lookForFree('live');
    monotonic = HOUR_MS;
    first.foundFree('live', [], Number.POSITIVE_INFINITY);
    first.end(true);
    const now = clock.now();
    const look = () => {
      const session = frontier.begin();
      const { from } = session.lookForFree('live');
      session.foundFree('live', [], Number.POSITIVE_INFINITY);
      return { from, session };
    };
    return { frontier, now, look };
  };

  test('is at what another transaction opened, when that ended while a look was under way', () => {
    const { frontier, now, look } = looked();
    const { session } = look();
    const other = frontier.begin();
    other.opened(now - HOUR_MS);
    other.end(true);
    session.end(true);
    expect(look().from).toBe(now - HOUR_MS);
  });

  test.each([
    [['one', 'three'], 1],
    [['one', 'two'], 2],
    [['one', 'two', 'three'], 2],
    [[], 0],
  ] as const)('is at the first lane that was found and left, when %j were leased', (leased, first) => {
    const { frontier, now, look } = looked();
    const lanes = ['one', 'two', 'three'].map((resource, place) => ({
      resource,
      head: now - HOUR_MS + place,
    }));
    const session = frontier.begin();
    session.lookForFree('live');
    session.foundFree('live', lanes, now - HOUR_MS + 2); // as many as were asked for
    if (leased.length > 0) session.leased(leased);
    session.end(true);
    expect(look().from).toBe(now - HOUR_MS + first);
  });

  test('is not lowered for what a transaction gave free that had nothing left, when it ended meanwhile', () => {
    const { frontier, now, look } = looked();
    const { session } = look();
    const other = frontier.begin();
    other.freed(['media:one']);
    other.end(true);
    session.end(true);
    expect(look().from).toBeGreaterThan(now - HOUR_MS);
  });
});

await describeWithPostgres('a look for free lanes in PostgreSQL', (server) => {
  let name: string;
  let admin: pg.Client;
  const stores: PostgresStore[] = [];
  beforeAll(async () => {
    name = await createDatabase(server);
    admin = new pg.Client(server.adminUrl(name));
    await admin.connect();
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await admin.end();
    await dropDatabase(server, name);
  });
  const clock = new VirtualClock();
  /** where each look along the whole index seems to take so long */
  let lookMs = 0;
  let monotonic = 0;
  const slow: MonotonicClock = {
    now: () => clock.now(),
    after: (ms, run) => clock.after(ms, run),
    monotonic: () => {
      monotonic += lookMs;
      return monotonic;
    },
  };
  const open = async () => {
    const store = await PostgresStore.open({
      ...{ url: server.url(name), clock: slow, timeOfDatabase: clock, secretsKey: SECRETS_KEY },
      ...{ connections: 2, tidies: false },
    });
    stores.push(store);
    return store;
  };
  let count = 0;
  const eventOf = (media: string, ago: number) =>
    verified({ media_id: media, at: clock.now() - ago, number: count++ });
  /** After this, looks do not go along the whole index, until `pass` ends the pause. */
  const pause = async (store: PostgresStore) => {
    lookMs = HOUR_MS;
    await claims(store, { owner: 'looks' });
    lookMs = 0;
  };
  const pass = () => {
    monotonic += HOUR_MS;
  };
  const heads = async (where: string) => {
    const { rows } = await admin.query<{ head: string }>(`SELECT head FROM hookkit.lanes WHERE ${where}`);
    return rows.map(({ head }) => Number(head));
  };

  test('finds what its process opened, gave free or woke, oldest first, when it does not go along the whole index', async () => {
    const store = await open();
    const step = fc.oneof(
      fc.record({
        come: fc.array(fc.record({ media: fc.nat(9), ago: fc.integer({ min: -HOUR_MS, max: HOUR_MS }) }), {
          minLength: 1,
          maxLength: 9,
        }),
      }),
      fc.record({ limit: fc.integer({ min: 3, max: 4 }), newest: fc.nat(2), replayed: fc.nat(1) }),
      fc.constant('replay'),
      fc.record({ which: fc.nat(3), settlement: fc.constantFrom(HANDLED, waiting(), waiting(10)) }),
    );
    const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const round = count++;
      await pause(store);
      const claimed: Claim[] = [];
      for (const one of steps) {
        if (one === 'replay') {
          await store.replay({ status: 'handled' });
        } else if ('come' in one) {
          for (const { media, ago } of one.come) {
            await store.record(eventOf(`${round}-${media}`, ago));
            await clock.advance(1);
          }
          await clock.advance(AWHILE_MS);
        } else if ('limit' in one) {
          const got = await claims(store, { ...one, leaseMs: HOUR_MS });
          const left = await heads('event IS NULL');
          if (got.length < one.limit) expect(left).toEqual([]);
          const taken = await heads(`event IN (${[0, ...got.map(({ place }) => place)].join()})`);
          const [given, others] = [partsOf(taken), partsOf(left)];
          const oldest = given.live.slice(0, Math.max(0, given.live.length - one.newest));
          expect(Math.min(...others.live)).toBeGreaterThanOrEqual(Math.max(...oldest));
          expect(Math.min(...others.replayed)).toBeGreaterThanOrEqual(Math.max(...given.replayed));
          claimed.push(...got);
        } else {
          const [claim] = claimed.splice(one.which % Math.max(1, claimed.length), 1);
          if (claim) expect(await store.settle(claim, 'one', one.settlement)).toBe(true);
          await clock.advance(5);
        }
      }
      for (const claim of claimed) await store.settle(claim, 'one', HANDLED);
      await clock.advance(10);
      await settleAll(store, HANDLED);
      expect(await store.count({ status: 'pending' })).toBe(0);
    });
    await fc.assert(property, { numRuns: runs(100) });
  });

  test('reads no more after a thousand events than before them, while an old snapshot keeps all that was handled', async () => {
    const store = await open();
    const holder = new pg.Client(server.adminUrl(name));
    await holder.connect();
    /** How many entries of indexes were read so far. A connection tells when it ends. */
    const read = async () => {
      const ours =
        "FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'hookkit'";
      await admin.query(`SELECT pg_terminate_backend(pid) ${ours}`);
      await eventually(
        'all connections have ended',
        async () => (await admin.query(`SELECT ${ours}`)).rowCount === 0,
      );
      const { rows } = await admin.query<{ read: number }>(
        `SELECT sum(idx_tup_read)::integer AS read FROM pg_stat_user_indexes
         WHERE relname IN ('work', 'lanes', 'ledger', 'bodies', 'results', 'steps', 'state')`,
      );
      return only(rows).read;
    };
    /** Records and handles so many seconds of events, each of another media. */
    const handle = async (seconds: number) => {
      const before = await read();
      for (let second = 0; second < seconds; second++) {
        await Promise.all(Array.from({ length: BATCH }, () => store.record(eventOf(`snapshot-${count}`, 0))));
        const got = await claims(store, { limit: BATCH, newest: BATCH / 4, has: [] });
        expect(got).toHaveLength(BATCH);
        await store.renew(
          'one',
          LEASE_MS,
          got.map(({ place }) => place),
        );
        const settled = got.map((claim) => store.settle(claim, 'one', HANDLED));
        expect(await Promise.all(settled)).toEqual(got.map(() => true));
        await clock.advance(1000);
      }
      return (await read()) - before;
    };
    try {
      await settleAll(store, HANDLED);
      await handle(1);
      await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
      await holder.query('SELECT count(*) FROM pg_class');
      await pause(store);
      await handle(40); // longer than a lease
      const first = await handle(5);
      await handle(60);
      expect(await handle(5)).toBeLessThan(1.5 * first);
    } finally {
      await holder.end();
    }
  });

  test('finds what another process opened, of a few seconds ago at once, of longer ago after a pause', async () => {
    const [store, other] = [await open(), await open()];
    await settleAll(other, HANDLED);
    await other.record(eventOf('late', 0));
    await other.settle(only(await claims(other)), 'one', waiting(2 * HOUR_MS));
    await clock.advance(HOUR_MS);
    await pause(store);
    await clock.advance(HOUR_MS);
    await other.record(eventOf('recent', HOUR_MS)); // received now, whatever its event time is
    await other.claim(request({ limit: 0 })); // takes it into work, and wakes what is due
    const resources = async () => {
      const got = await claims(store);
      for (const claim of got) await store.settle(claim, 'one', HANDLED);
      return got.map(({ resource }) => resource);
    };
    expect(await resources()).toEqual(['media:recent']);
    expect(await resources()).toEqual([]);
    pass();
    expect(await resources()).toEqual(['media:late']);
  });

  test('finds leases that ran out, of other processes too, when they ended after the last look along the whole index', async () => {
    const [store, other] = [await open(), await open()];
    await settleAll(store, HANDLED);
    await pause(store);
    await other.record(eventOf('lost', 0));
    expect(await claims(other, { owner: 'killed' })).toHaveLength(1);
    await clock.advance(LEASE_MS + 1);
    // Its end is later than all that the last look has passed.
    const found = await claims(store);
    expect(found.map(({ resource, attempts }) => [resource, attempts])).toEqual([['media:lost', 2]]);
  });
});
