import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type pg from 'pg';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { Claim } from '../../src/store/event-store.ts';
import {
  claimed,
  claimedOne,
  FAILED,
  given,
  HANDLED,
  idsOf,
  LEASE_MS,
  MOST,
  notified,
  polled,
  recorded,
  SEARCH,
  statusOf,
} from './desk.ts';
import { adminOf, onPostgres } from './stages.ts';
import { Stepped } from './stepped.ts';

onPostgres('two transactions', (stage) => {
  let a: Stepped;
  let b: Stepped;
  /** holds locks */
  let z: pg.Client;

  beforeAll(async () => {
    [a, b] = [await Stepped.start(stage, 'process-a'), await Stepped.start(stage, 'process-b')];
    z = await adminOf(stage.adminUrl);
  });
  afterAll(() => z.end());

  // None of these may need a retry: a deadlock costs a second of acks.
  afterEach(() => expect([...a.errors.splice(0), ...b.errors.splice(0)]).toEqual([]));

  test('record waits for whoever closes the lane, and opens it again', async () => {
    await recorded(a.store, notified());
    const claim = await claimedOne(a.store, 'media:one');
    const close = await a.upTo(/^DELETE FROM lanes/, (store) => store.queue.settle(claim, HANDLED));
    const acking = await b.waits((store) => store.queue.record(notified()));
    expect(await close()).toEqual({ isHeld: true, hasMore: false });
    await acking.result;
    expect(await claimed(a.store, 'media:one')).toHaveLength(1);
  });

  test('settle sees an event that was recorded while it waited for the lane', async () => {
    await recorded(a.store, notified());
    const claim = await claimedOne(a.store, 'media:one');
    const commit = await b.upTo(/COMMIT$/, (store) => store.queue.record(notified()));
    const settling = await a.waits((store) => store.queue.settle(claim, HANDLED));
    await commit();
    expect(await settling.result).toEqual({ isHeld: true, hasMore: true });
    expect(await claimed(a.store, 'media:one')).toHaveLength(1);
  });

  test('settle changes nothing, when another process recovers the lease while it waits, or has taken the event over', async () => {
    const { claim, commit } = await recovering();
    const settling = await a.waits((store) =>
      store.queue.settle(claim, { ...HANDLED, state: [{ name: 'k', value: '1' }] }),
    );
    await commit();
    expect(await settling.result).toEqual({ isHeld: false, hasMore: false });
    expect(await statusOf(a.store, claim.id)).toBe('pending');
    expect(await a.store.queue.state({ resource: 'media:one' })).toEqual([]);
    await claimedOne(b.store, 'media:one');
    expect(await a.store.queue.settle(claim, HANDLED)).toEqual({ isHeld: false, hasMore: false });
    expect(await statusOf(a.store, claim.id)).toBe('running');
  });

  test('a step is not stored, when another process recovers the lease while it waits', async () => {
    const { claim, commit } = await recovering();
    const saving = await a.waits((store) =>
      store.queue.saveStep({ ...claim, ...{ name: 'mail', result: '1' } }),
    );
    await commit();
    expect(await saving.result).toBeUndefined();
  });

  test('recover leaves a lease alone that is being renewed or settled', async () => {
    await recorded(a.store, notified('media:one'), notified('media:two'));
    const claims = await polled(a.store);
    await stage.pass(LEASE_MS + 1);
    const renewed = await a.upTo(/COMMIT$/, (store) =>
      store.queue.renew({ list: claims.slice(0, 1), leaseMs: LEASE_MS }),
    );
    const settled = await a.upTo(/^DELETE FROM lanes/, (store) =>
      store.queue.settle(claims[1] as Claim, HANDLED),
    );
    expect(await b.store.queue.recover(MOST)).toEqual({ ready: [], dead: [] });
    expect([(await renewed()).length, await settled()]).toEqual([1, { isHeld: true, hasMore: false }]);
    expect(await b.store.queue.recover(MOST)).toEqual({ ready: [], dead: [] });
  });

  test('claim gives a lane to one of two that ask for it', async () => {
    await recorded(a.store, notified());
    const lease = await a.upTo(/^UPDATE lanes SET\s+lease/, (store) => claimed(store, 'media:one'));
    expect(await polled(b.store, { newest: 500 })).toEqual([]);
    expect(await lease()).toHaveLength(1);
  });

  test('claim takes the oldest ready event as it is after it has locked the lane', async () => {
    const [older] = await recorded(a.store, notified('media:one', 1));
    await store0Fails();
    await recorded(a.store, notified('media:one', 2));
    const lease = await a.upTo(/^UPDATE lanes SET\s+lease|FROM lanes\s+WHERE/, (store) =>
      claimed(store, 'media:one'),
    );
    await stage.pass(2000);
    await b.store.queue.wake(); // the older one is ready before the lane is locked
    expect((await lease()).map(({ id }) => id)).toEqual([older?.id]);
  });

  test('wake looks again whether an event is due, when it has waited for another one that woke it', async () => {
    await recorded(a.store, notified());
    await store0Fails();
    await stage.pass(2000);
    const open = await a.upTo(/^INSERT INTO lanes/, (store) => store.queue.wake());
    await b.store.queue.wake();
    await b.store.queue.settle(await claimedOne(b.store, 'media:one'), { ...FAILED, afterMs: 3_600_000 });
    expect(await open()).toEqual([]);
    expect(await a.store.reports.overview()).toMatchObject({ waiting: 1 });
    expect(await polled(a.store)).toEqual([]); // the lane that it opened has nothing
  });

  test('wake and record of the same resource take lanes before events', async () => {
    const [waiting] = await recorded(a.store, notified());
    await store0Fails();
    await stage.pass(2000);
    const repeat = await a.upTo(/^SELECT .* FROM events WHERE id/s, (store) =>
      Promise.all([
        store.queue.record(notified('media:one')),
        store.queue.record({ ...notified(), ...waiting }),
      ]),
    );
    const waking = await b.waits((store) => store.queue.wake());
    await repeat();
    expect(await waking.result).toEqual(['media:one']);
  });

  test('two that wake events which were lost twice make one of them ready', async () => {
    await recorded(a.store, notified('media:a'), notified('media:b'));
    for (let crash = 0; crash < 2; crash++) {
      await claimed(a.store, 'media:a', 'media:b');
      await stage.pass(LEASE_MS + 1);
      await b.store.queue.recover(MOST);
    }
    await stage.sql("UPDATE events SET next_at = next_at - 10 WHERE resource = 'media:a'");
    const commit = await a.upTo(/COMMIT$/, (store) => store.queue.wake());
    // A process that began to recover earlier commits only now.
    await stage.sql("UPDATE events SET next_at = next_at - 20 WHERE resource = 'media:b'");
    const second = await b.waits((store) => store.queue.wake());
    expect([await commit(), await second.result]).toEqual([['media:a'], []]);
  });

  test('replay leaves out what began to run after it looked, and prune what runs again', async () => {
    const [one] = await recorded(a.store, notified());
    await store0Fails();
    await stage.pass(2000);
    const reset = await a.upTo(/^SELECT .* FROM lanes WHERE resource/s, (store) => store.queue.replay({}));
    await b.store.queue.wake();
    const claim = await claimedOne(b.store, 'media:one');
    expect(await reset()).toEqual({ events: 0, left: 1 });
    await b.store.queue.settle(claim, HANDLED);
    const again = await a.upTo(/^SELECT .* FROM lanes WHERE resource/s, (store) =>
      store.queue.replay({ status: 'handled' }),
    );
    await b.store.queue.replay({});
    await b.store.queue.settle(await claimedOne(b.store, 'media:one'), { ...HANDLED, status: 'skipped' });
    expect(await again()).toEqual({ events: 0, left: 0 });
    const empty = await a.upTo(/^UPDATE events SET body/, (store) =>
      store.queue.prune({ before: Date.now() * 2, limit: 10 }),
    );
    await b.store.queue.replay({});
    expect(await empty()).toBe(0);
    expect((await a.store.queue.event({ id: one?.id ?? '' }))?.body).toBe(one?.body);
  });

  test('records of the same events in another order do not get in each other’s way', async () => {
    const [first, second, third] = [notified('media:z'), notified('media:y'), notified('media:x')];
    await z.query(
      `BEGIN; INSERT INTO events (id, kind, webhook_id, site_id, resource, event_time, received_at, last_delivery_at)
       VALUES ('${third.id}', '', '', '', '', 1, 1, 1)`,
    );
    const one = await a.waits((store) =>
      Promise.all([second, third, first].map((event) => store.queue.record(event))),
    );
    const two = await b.waits((store) =>
      Promise.all([first, second].map((event) => store.queue.record(event))),
    );
    await z.query('ROLLBACK');
    await Promise.all([one.result, two.result]);
    expect((await stage.sql('SELECT 1 FROM events WHERE deliveries = 2')).length).toBe(2);
  });

  test('records of the same resources in another order do not get in each other’s way', async () => {
    const names = ['media:x', 'media:y'];
    await recorded(a.store, ...names.map((name) => notified(name)));
    await z.query("BEGIN; SELECT FROM lanes WHERE resource = 'media:x' FOR UPDATE");
    const ackAll = (list: string[]) => (store: typeof a.store) =>
      Promise.all(list.map((name) => store.queue.record(notified(name))));
    const one = await a.waits(ackAll(names));
    const two = await b.waits(ackAll(names.toReversed()));
    await z.query('COMMIT');
    await Promise.all([one.result, two.result]);
  });

  test('repeats, settlements and renewals in another order do not get in each other’s way', async () => {
    const list = ['media:x', 'media:y', 'media:z'].map((name) => notified(name));
    await recorded(a.store, ...list);
    const claims = new Map((await polled(a.store)).map((claim) => [claim.resource, claim]));
    const of = (name: string) => claims.get(name) as Claim;
    await z.query(`BEGIN; SELECT FROM events WHERE resource = 'media:z' FOR UPDATE`);
    const settling = await a.waits((store) =>
      Promise.all(['media:y', 'media:z', 'media:x'].map((name) => store.queue.settle(of(name), FAILED))),
    );
    const repeating = await b.waits((store) =>
      Promise.all(list.slice(0, 2).map((event) => store.queue.record(event))),
    );
    await z.query('COMMIT');
    await Promise.all([settling.result, repeating.result]);
    await stage.pass(2000);
    await a.store.queue.wake();
    const again = await polled(a.store);
    const mixed = ['media:y', 'media:z', 'media:x'].map(
      (name) => again.find(({ resource }) => resource === name) as Claim,
    );
    for (const operate of [
      () => a.store.queue.renew({ list: mixed, leaseMs: LEASE_MS }),
      () => Promise.all(mixed.map((claim) => a.store.queue.settle(claim, HANDLED))),
    ]) {
      await z.query(`BEGIN; SELECT FROM lanes WHERE resource = 'media:z' FOR UPDATE`);
      const first = await a.waits<readonly unknown[]>(operate);
      const acking = await b.waits((store) =>
        Promise.all(['media:x', 'media:y'].map((resource) => store.queue.record(notified(resource)))),
      );
      await z.query('COMMIT');
      expect(await first.result).toHaveLength(3);
      await acking.result;
    }
  });

  test('tries again, when the server ends one of two that wait for each other', async () => {
    const list = [notified('media:x'), notified('media:y')];
    await recorded(a.store, ...list);
    await z.query(
      "BEGIN; SET LOCAL deadlock_timeout = '1h'; SELECT FROM events WHERE resource = 'media:y' FOR UPDATE",
    );
    const repeating = await a.waits((store) => Promise.all(list.map((event) => store.queue.record(event))));
    await Promise.all([
      z.query("SELECT FROM events WHERE resource = 'media:x' FOR UPDATE; COMMIT"),
      repeating.result,
    ]);
    expect(new Set(a.errors.splice(0))).toEqual(new Set(['40P01']));
    expect(await stage.sql('SELECT DISTINCT deliveries FROM events')).toEqual([{ deliveries: 2 }]);
  });

  test('an ack is none, when the server warns of its commit, as where the wait for a standby was cut off', async () => {
    await stage.sql(`CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NULL; END $$`);
    await stage.sql(`CREATE CONSTRAINT TRIGGER warns AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION warn()`);
    const acking = a.store.queue.record(notified()).catch((error) => error);
    expect(await acking).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await stage.sql('DROP FUNCTION warn CASCADE');
  });

  test('recover goes by the clock of the database, whatever that of a process says', async () => {
    await recorded(a.store, notified());
    await claimedOne(a.store, 'media:one');
    const fast = await stage.another({ clock: new VirtualClock(Date.now() + 86_400_000) });
    expect(await fast.queue.recover(MOST)).toEqual({ ready: [], dead: [] });
  });

  test('each is ended by the server, when its process stands still within it', async () => {
    const settings: unknown[] = [];
    a.before = async (text, aside) => {
      if (!/^INSERT INTO events/.test(text)) return;
      for (const name of ['idle_in_transaction_session_timeout', 'statement_timeout', 'lock_timeout'])
        settings.push((await aside(`SHOW ${name}`))[0]?.[name]);
    };
    await a.store.queue.record(notified());
    a.before = undefined;
    expect(settings).toEqual(['5s', '15s', '5s']);
  });

  test.each(['events', 'lanes'])(
    'a ping, and one for all who ask, waits, when another program has locked the table of %s',
    async (table) => {
      await z.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
      const sent = a.texts.length;
      const { result } = await a.waits((store) => Promise.all([store.queue.ping(), store.queue.ping()]));
      await z.query('COMMIT');
      await result;
      expect(a.texts.slice(sent).filter((text) => text.endsWith('COMMIT'))).toHaveLength(1);
    },
  );

  /** A lease that ran out, which another process recovers with its next commit. */
  async function recovering() {
    await recorded(a.store, notified());
    const claim = await claimedOne(a.store, 'media:one');
    await stage.pass(LEASE_MS + 1);
    return { claim, commit: await b.upTo(/COMMIT$/, (store) => store.queue.recover(MOST)) };
  }

  async function store0Fails(): Promise<void> {
    await a.store.queue.settle(await claimedOne(a.store, 'media:one'), FAILED);
  }
});

onPostgres('the cursor', (stage) => {
  const seen = async (store: Stepped['store'], after: number): Promise<{ ids: string[]; upTo: number }> => {
    const upTo = await store.queue.lastSeq();
    const { list } = await store.queue.receivedPage({ filter: {}, after, limit: 500, upTo });
    return { ids: list.map(({ id }) => id), upTo };
  };

  test.each([/COMMIT$/, /^INSERT INTO events/, /^SELECT pg_advisory/])(
    'skips nothing that commits late, when that stands before %s',
    async (statement) => {
      const slow = await Stepped.start(stage, `slow-${statement.source.length}`);
      const [first, late, quick] = [notified('media:a'), notified('media:b'), notified('media:c')];
      await stage.store.queue.record(first);
      const go = await slow.upTo(statement, (store) => store.queue.record(late));
      await stage.store.queue.record(quick);
      const before = await seen(stage.store, 0);
      await go();
      const after = await seen(stage.store, before.upTo);
      expect([...before.ids, ...after.ids].sort()).toEqual([first, late, quick].map(({ id }) => id).sort());
    },
  );
});

onPostgres('fan out', (stage) => {
  let a: Stepped;
  let b: Stepped;
  const MAKE = /^INSERT INTO events \(id, subscriber/;

  beforeAll(async () => {
    [a, b] = [await Stepped.start(stage, 'one-process'), await Stepped.start(stage, 'other-process')];
  });
  beforeEach(() => a.store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] }));
  afterEach(() => expect([a, b].flatMap(({ errors }) => errors.splice(0))).toEqual([]));

  test.each([/COMMIT$/, /^INSERT INTO events/, /^SELECT pg_advisory/])(
    'passes nothing that commits late, and begins before it, when that stands before %s',
    async (statement) => {
      const [first, late, quick] = [notified('media:a'), notified('media:b'), notified('media:c')];
      await recorded(stage.store, first);
      expect(await given(a.store)).toEqual([first.id]);
      const go = await b.upTo(statement, (store) => store.queue.record(late));
      await recorded(stage.store, quick);
      await stage.store.queue.subscribe({ subscriber: 'mail', kinds: ['media_available'] });
      await given(a.store);
      await go();
      expect((await given(a.store)).toSorted()).toEqual(idsOf([first, late, quick]).sort());
      expect(await given(a.store, 'mail')).toContain(late.id);
    },
  );

  test('is done by one of two processes: the other waits for nothing, and none is made twice or missed', async () => {
    const [one] = await recorded(stage.store, notified('media:a'));
    const make = await a.upTo(MAKE, (store) => store.queue.wake(SEARCH));
    const two = notified('media:b');
    await recorded(stage.store, two);
    expect(await b.store.queue.wake(SEARCH)).toEqual([]);
    expect(await make()).toEqual(['media:a']);
    expect(await b.store.queue.wake(SEARCH)).toEqual(['media:b']);
    expect(await given(a.store)).toEqual([one?.id, two.id]);
  });

  test('and a start with the past make each event once, whichever comes first', async () => {
    const list = await recorded(stage.store, notified('media:a'), notified('media:b'));
    const make = await a.upTo(MAKE, (store) => store.queue.wake(SEARCH));
    const starting = await b.waits((store) => store.queue.startSubscriber('search', 0));
    await make();
    expect(await starting.result).toEqual({ events: 0, left: 0 });
    list.push(...(await recorded(stage.store, notified('media:a', 5))));
    const start = await b.upTo(MAKE, (store) => store.queue.startSubscriber('search', 0));
    expect(await a.store.queue.wake(SEARCH)).toEqual([]);
    expect(await start()).toEqual({ events: 1, left: 0 });
    expect(await given(a.store)).toEqual(idsOf(list));
  });

  test('makes no event without a body, when retention empties one that a start has just read', async () => {
    await recorded(stage.store, notified());
    await stage.store.queue.settle(await claimedOne(stage.store, 'media:one'), HANDLED);
    await a.store.queue.wake(SEARCH);
    await stage.sql("DELETE FROM events WHERE subscriber = 'search'");
    const start = await a.upTo(MAKE, (store) => store.queue.startSubscriber('search', 0));
    expect(await b.store.queue.prune({ before: Date.now() * 2, limit: 10 })).toBe(1);
    expect(await start()).toMatchObject({ events: 0 });
    expect(await given(a.store)).toEqual([]);
  });

  test('is undone whole, when a removal comes while an ack is under way', async () => {
    await recorded(stage.store, notified());
    const ack = await b.upTo(/COMMIT$/, (store) => store.queue.record(notified('media:late')));
    expect(await given(a.store)).toHaveLength(1);
    expect(await a.store.queue.removeSubscriber('search')).toBe(1);
    await ack();
    expect(await a.store.queue.count({ ...SEARCH, status: 'pending' })).toBe(0);
  });

  test('a settlement that waits for a lock holds up that of no other subscriber', async () => {
    await recorded(stage.store, notified());
    await given(a.store);
    const [own] = await polled(a.store, SEARCH);
    const [main] = await polled(a.store);
    const z = await adminOf(stage.adminUrl);
    await z.query("BEGIN; SELECT FROM lanes WHERE subscriber = 'search' FOR UPDATE");
    const waiting = await a.waits((store) => store.queue.settle(own as Claim, HANDLED));
    expect(await a.store.queue.settle(main as Claim, HANDLED)).toMatchObject({ isHeld: true });
    await z.query('COMMIT');
    await z.end();
    expect(await waiting.result).toMatchObject({ isHeld: true });
  });
});
