import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { Database } from '../../../src/store/postgres/database.ts';
import { WriteLink } from '../../../src/store/postgres/links.ts';
import { PostgresStore } from '../../../src/store/postgres/postgres-store.ts';
import { REPLAYS_FROM } from '../../../src/store/semantics/lane-order.ts';
import { claimOne, claims, HANDLED, request, settleAll } from '../../support/claiming.ts';
import { eventually } from '../../support/eventually.ts';
import { connected, createDatabase, dropDatabase, SECRETS_KEY } from '../../support/postgres-databases.ts';
import { postgresFixture } from '../../support/postgres-fixture.ts';
import { describeWithPostgres } from '../../support/shared-postgres.ts';
import { size } from '../../support/sizes.ts';
import { eachWithStore } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

// A statement that waited for a lane's lock, or was overtaken, sees the lane as it is then, and what it joins to it as it was before.
// So a claim in one statement gets events again that another process has settled meanwhile.

const EVENTS = size({ small: 120, full: 10_000 });
const RESOURCES = 6;
/** Processes, and dispatchers of each. */
const STORES = 3;
const DISPATCHERS = 2;
/** Less than there are lanes, so that each claim leaves some to the others. */
const LIMIT = 3;

const openAt = (url: string, clock: VirtualClock) =>
  PostgresStore.open({
    ...{ url, clock, timeOfDatabase: clock, secretsKey: SECRETS_KEY, connections: 2, tidies: false },
  });

/** The name of the connections of which a claim is held up. */
const HELD = 'held up';
/** Of the advisory locks of the database, the one for which it waits. */
const GATE = 1;

/**
 * Has a claim of those connections wait where it looks at a free lane: within its statement, which has its snapshot by then, and before
 * it locks the lane. A policy is executed for each row that is read.
 */
const HOLD_UP = `
  CREATE FUNCTION wait_at_gate() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
    IF current_setting('application_name') = '${HELD}' THEN PERFORM pg_advisory_xact_lock_shared(${GATE}); END IF;
    RETURN true;
  END $$;
  CREATE POLICY waits ON hookkit.lanes USING (wait_at_gate()) WITH CHECK (true);
  ALTER TABLE hookkit.lanes ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`;

await describeWithPostgres('events of one resource that two processes claim', (server) => {
  test.each([true, false])(
    'are not claimed after their end, when another one settles them while the claim goes through the lanes, with isAhead: %s',
    async (isAhead) => {
      const name = await createDatabase(server);
      const clock = new VirtualClock();
      const url = server.url(name);
      const other = await openAt(url, clock);
      const held = new Database({ url, connections: 2, name: HELD });
      const write = new WriteLink(held, clock, (work) => work());
      try {
        const [first, second] = [
          await other.record(verified({ media_id: 'media', at: EVENT_TIME })),
          await other.record(verified({ media_id: 'media', at: EVENT_TIME + 1000 })),
        ];
        await other.claim(request({ limit: 0 })); // takes them into work
        await connected(server.adminUrl(name), async (admin) => {
          await admin.query(HOLD_UP);
          await admin.query(`SELECT pg_advisory_lock(${GATE})`);
          // Without those that look for leases that were lost: they go through the lanes before.
          const asked = { ...request({ owner: 'one', has: [], isAhead, spareLost: true }), now: clock.now() };
          const claimed = write.request('claim', asked);
          await eventually('the claim waits', async () => {
            const { rowCount } = await admin.query(
              "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
            );
            return rowCount === 1;
          });
          const claim = await claimOne(other, { owner: 'other' });
          expect(claim.id).toBe(first.id);
          expect(await other.settle(claim, 'other', HANDLED)).toBe(true);
          await admin.query(`SELECT pg_advisory_unlock(${GATE})`);
          expect((await claimed).claims.map(({ id }) => id)).toEqual([second.id]);
        });
      } finally {
        await write.close();
        await held.close();
        await other.close();
        await dropDatabase(server, name);
      }
    },
  );
});

await describeWithPostgres('events of resources that several processes contend for', (server) => {
  const fixture = eachWithStore(postgresFixture(server));

  test('are claimed once each, in their order, and never after their end, when each claim meets those of the others', async () => {
    const { store, open } = fixture();
    const stores = [store];
    while (stores.length < STORES) stores.push(await open());
    const numbers = Array.from({ length: EVENTS }, (_, number) => number);
    await Promise.all(
      numbers.map((number) =>
        store.record(verified({ media_id: `media-${number % RESOURCES}`, at: EVENT_TIME + number * 1000 })),
      ),
    );
    const last = new Map<string, number>();
    const wrong: string[] = [];
    let ended = 0;
    const dispatch = async (one: EventStore, owner: string) => {
      for (let turn = 0; ended < EVENTS && wrong.length === 0; turn++) {
        const isAhead = turn % 4 > 0;
        const got = await claims(one, { owner, limit: LIMIT, newest: turn % 2, has: [], isAhead });
        for (const { resource, eventTime, starts } of got) {
          if (starts !== 1 || eventTime <= (last.get(resource) ?? 0))
            wrong.push(`${resource} ${eventTime} in start ${starts}, after ${last.get(resource)}`);
          last.set(resource, eventTime);
        }
        const isHeld = await Promise.all(got.map((claim) => one.settle(claim, owner, HANDLED)));
        ended += isHeld.filter(Boolean).length;
        if (isHeld.includes(false)) wrong.push(`of ${JSON.stringify(got)} not all were held`);
      }
    };
    await Promise.all(
      stores.flatMap((one, process) =>
        Array.from({ length: DISPATCHERS }, (_, number) => dispatch(one, `process ${process} ${number}`)),
      ),
    );
    expect(wrong).toEqual([]);
    expect(ended).toBe(EVENTS);
    expect(await store.count({ status: 'handled' })).toBe(EVENTS);
  });
});

await describeWithPostgres('the lane of a resource that is being replayed', (server) => {
  test('keeps the place of a live event, when that is committed while a replay waits to put others into the lane', async () => {
    const name = await createDatabase(server);
    const clock = new VirtualClock();
    const store = await openAt(server.url(name), clock);
    try {
      const at = (hours: number) => verified({ media_id: 'media', at: EVENT_TIME + hours * 3_600_000 });
      const [first, second] = [await store.record(at(1)), await store.record(at(2))];
      await settleAll(store, HANDLED);
      await store.replay({ ids: [first.id] });
      await connected(server.adminUrl(name), async (other) => {
        // What another process does that takes a live event into work.
        await other.query('BEGIN');
        await other.query(
          `INSERT INTO hookkit.work (event, kind, resource, event_time, attempts, interrupted, replays)
           VALUES (99, 'media_available', 'media:media', $1, 0, 0, 0)`,
          [EVENT_TIME + 3 * 3_600_000],
        );
        await other.query("UPDATE hookkit.lanes SET head = $1 WHERE resource = 'media:media'", [clock.now()]);
        const replayed = store.replay({ ids: [second.id] });
        await connected(server.adminUrl(name), (admin) =>
          eventually('the replay waits for the lane', async () => {
            const { rows } = await admin.query(
              "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
            );
            return rows.length > 0;
          }),
        );
        await other.query('COMMIT');
        expect(await replayed).toBe(1);
        const { rows } = await other.query('SELECT head FROM hookkit.lanes');
        expect(rows.map(({ head }) => Number(head) < REPLAYS_FROM)).toEqual([true]);
      });
    } finally {
      await store.close();
      await dropDatabase(server, name);
    }
  });
});
