import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Driver from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { dispatchersOf } from '../../src/dispatch/subscribers.ts';
import type { Claim, EventStore } from '../../src/store/event-store.ts';
import { moveDatabase } from '../../src/store/move.ts';
import { openStore } from '../../src/store/open.ts';
import { eventually } from '../support/eventually.ts';
import { logLines } from '../support/log-lines.ts';
import { only, present } from '../support/only.ts';
import { createDatabase, dropDatabase, leftByPrograms, SECRETS_KEY } from '../support/postgres-databases.ts';
import { describeWithPostgres } from '../support/shared-postgres.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { FAILED, given, HANDLED, idsOf, LEASE_MS, NOON, notified, polled, recorded, SEARCH } from './desk.ts';
import { onEachEngine, onPostgres } from './stages.ts';
import { Stepped } from './stepped.ts';

const OTHERS = [SEARCH, { subscriber: 'mail' }];
const ALL = [{ subscriber: '' }, ...OTHERS];
const AVAILABLE = ['media_available'];
const DAY_MS = 86_400_000;

async function subscribed(store: EventStore, ...names: string[]): Promise<void> {
  for (const subscriber of names) await store.queue.subscribe({ subscriber, kinds: AVAILABLE });
}

/** Claims and handles what is ready of a subscriber, until nothing is. */
async function inTurn(store: EventStore): Promise<readonly Claim[]> {
  const all: Claim[] = [];
  for (;;) {
    const claims = await polled(store, SEARCH);
    if (claims.length === 0) return all;
    all.push(...claims);
    await Promise.all(claims.map((claim) => store.queue.settle(claim, HANDLED)));
  }
}

onEachEngine('fan out', (stage) => {
  test('gives each notification once to each subscriber that handles its kind, whoever recorded it, and a duplicate to none', async () => {
    const { store } = stage;
    const other = await stage.another();
    await subscribed(store, 'search');
    await store.queue.subscribe({ subscriber: 'rest', kinds: ['unknown'] });
    await store.queue.subscribe({ subscriber: 'later', kinds: ['media_exploded'] }); // a later version of the kit knows it
    const [one, two, odd] = [notified(), notified(), notified('media:odd', 0, { kind: 'media_exploded' })];
    await recorded(store, one, odd, notified('media:one', 0, { kind: 'media_updated' }));
    await recorded(other, one);
    await other.quarantine.add({ ...two, token: 'token', source: '203.0.113.7' }, 100_000);
    expect(await other.quarantine.admit('token')).toBeDefined();
    await recorded(store, two);
    for (let again = 0; again < 2; again++) {
      expect(await given(store)).toEqual(idsOf([one, two]));
      expect([await given(other, 'rest'), await given(other, 'later')]).toEqual([[odd.id], [odd.id]]);
    }
    const [first, copy] = await store.queue.siblings({ id: `${one.id}@search` });
    const own = { id: `${one.id}@search`, ...SEARCH, deliveries: 1, seq: expect.any(Number) };
    expect(copy).toEqual({ ...present(first), ...own, body: one.body });
    expect(await store.queue.siblings(odd)).toHaveLength(3);
  });

  test('begins where a subscriber is subscribed, with a kind where that is added, goes on from its place, and in steps of 500', async () => {
    const { store } = stage;
    const updated = () => notified('media:one', 0, { kind: 'media_updated' });
    await recorded(store, notified(), notified());
    await subscribed(store, 'search');
    const list = Array.from({ length: 1100 }, (_, n) => notified(`media:${n % 7}`));
    await Promise.all([...list, updated()].map((one) => store.queue.record(one)));
    await subscribed(await stage.another(), 'search'); // one more process changes nothing
    const steps: number[] = [];
    while ((await store.queue.work(SEARCH)).isBehind) steps.push((await store.queue.wake(SEARCH)).length);
    expect(steps.filter((made) => made > 0)).toEqual([500, expect.any(Number), expect.any(Number)]);
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_updated'] });
    const [added, last] = await recorded(store, updated(), notified());
    const has = await given(store);
    expect(has).toHaveLength(1102);
    expect(new Set(has)).toEqual(new Set(idsOf([...list, present(added), present(last)])));
    expect(await store.queue.subscribers()).toMatchObject([{ behind: 0 }]);
  });

  test('is started with the past: what the subscriber has not, by event time, once all is made; what has no body any more is counted', async () => {
    const { store } = stage;
    const past = Array.from({ length: 600 }, (_, n) => notified(`media:${n % 20}`, 1000 - n));
    await Promise.all(past.map((one) => store.queue.record(one)));
    await recorded(store, notified('media:early', -1), notified('media:0', 7, { kind: 'media_updated' }));
    await subscribed(store, 'search');
    const [has] = await recorded(store, notified('media:has', 5));
    await given(store);
    expect(idsOf(await inTurn(store))).toEqual([`${has?.id}@search`]);
    const gone = idsOf([present(past[7]), present(has)]);
    await stage.sql(`UPDATE events SET body = NULL WHERE id IN ('${gone.join("','")}')`);
    const steps: number[] = [];
    const onStep = async (ids: readonly string[]) => {
      steps.push(ids.length);
      expect(await polled(store, SEARCH)).toEqual([]);
    };
    expect(await store.queue.startSubscriber('search', NOON, { onStep })).toEqual({ events: 599, left: 1 });
    expect(steps).toHaveLength(2);
    const ran = await inTurn(store);
    expect(new Set(idsOf(ran))).toEqual(
      new Set(past.filter(({ id }) => id !== gone[0]).map(({ id }) => `${id}@search`)),
    );
    expect(ran.filter(({ late }) => late)).toEqual([]);
    expect(await store.queue.startSubscriber('search', NOON)).toEqual({ events: 0, left: 1 });
  });

  test('a start with the past that a crash cut off is finished by the next one in order, or released an hour later', async () => {
    const { store, clock } = stage;
    const list = await recorded(store, ...[3, 1, 2].map((seconds) => notified('media:one', seconds)));
    const [late, , middle] = await Promise.all(list.map(({ id }) => store.queue.event({ id })));
    await subscribed(store, 'search');
    const held = { ...SEARCH, events: [present(late)], heldBy: clock.now() + 3_600_000 };
    await store.queue.makeHeld(held);
    expect(await store.queue.startSubscriber('search', 0)).toEqual({ events: 3, left: 0 });
    expect((await inTurn(store)).map(({ id }) => id)).toEqual(
      [1, 2, 0].map((at) => `${list[at]?.id}@search`),
    );
    // What a replay holds is not the start's.
    const [own] = (await store.queue.search({ filter: SEARCH, limit: 1 })).events;
    const reset = { ...SEARCH, events: [present(own)], still: undefined, resetSteps: false };
    await store.queue.reset({ ...reset, heldBy: held.heldBy });
    expect(await store.queue.startSubscriber('search', 0)).toMatchObject({ events: 0 });
    await store.queue.subscribe({ subscriber: 'mail', kinds: AVAILABLE });
    await store.queue.makeHeld({ ...held, subscriber: 'mail', events: [present(middle)] });
    await stage.pass(3_600_001);
    expect(await store.queue.wake()).toEqual([]);
    expect(await polled(store, { subscriber: 'mail' })).toEqual([]);
    expect(await store.queue.wake({ subscriber: 'mail' })).toEqual(['media:one']);
    expect(idsOf(await polled(store, { subscriber: 'mail' }))).toEqual([`${middle?.id}@mail`]);
  });

  test('retention does not pass what a subscriber was not given yet, for 30 days at most', async () => {
    const { store, clock } = stage;
    const handledNow = { ...HANDLED, startedAt: clock.now() };
    await subscribed(store, 'search', 'mail');
    const [one] = await recorded(store, notified());
    await store.queue.settle(only(await polled(store)), handledNow);
    const prune = () => store.queue.prune({ before: clock.now() + DAY_MS, limit: 10 });
    await given(store, 'mail');
    expect(await prune()).toBe(0);
    expect(await given(store)).toEqual([one?.id]);
    expect(await prune()).toBe(1);
    expect((await store.queue.event({ id: `${one?.id}@search` }))?.body).toBe(one?.body);
    await recorded(store, notified());
    await store.queue.settle(only(await polled(store)), handledNow);
    await given(store, 'mail');
    await clock.advance(30 * DAY_MS - 1000);
    expect(await prune()).toBe(0);
    await clock.advance(2000);
    expect(await prune()).toBe(1);
    expect(await given(store)).toEqual([one?.id]);
  });
});

onEachEngine('a subscriber', (stage) => {
  test('has lane, attempts, steps, state, late and end of its own', async () => {
    const { store } = stage;
    await subscribed(store, 'search', 'mail');
    const newer = only(await recorded(store, notified('media:one', 2)));
    const claims = async () => {
      for (const { subscriber } of OTHERS) await given(store, subscriber);
      return (await Promise.all(ALL.map((whose) => polled(store, whose)))).flat();
    };
    const idsOfAll = ({ id }: { readonly id: string }) => ['', '@search', '@mail'].map((name) => id + name);
    const [main, search, mail] = (await claims()) as [Claim, Claim, Claim];
    expect(idsOf([main, search, mail])).toEqual(idsOfAll(newer));
    await store.queue.saveStep({ ...search, ...{ name: 'mail', result: '1' } });
    const state = [{ name: 'k', value: '"main"' }];
    const ownState = [{ name: 'k', value: '"search"' }];
    await store.queue.settle(main, { ...HANDLED, status: 'dead', outcome: 'failed', state });
    await store.queue.settle(search, { ...HANDLED, state: ownState });
    await store.queue.settle(mail, FAILED);
    const older = only(await recorded(store, notified('media:one', 1)));
    const next = await claims();
    expect(idsOf(next)).toEqual(idsOfAll(older));
    expect(next.map((claim) => [claim.late, claim.starts, claim.state])).toEqual([
      [false, 1, state],
      [true, 1, ownState],
      [false, 1, []],
    ]);
    await Promise.all(next.map((claim) => store.queue.settle(claim, HANDLED)));
    const ended = await store.queue.siblings(newer);
    expect(ended.map(({ subscriber, status, attempts }) => [subscriber, status, attempts])).toEqual([
      ['', 'dead', 1],
      ['mail', 'pending', 1],
      ['search', 'handled', 1],
    ]);
    const lane = { resource: 'media:one' };
    expect(await store.queue.state(lane)).toEqual(state);
    expect(await store.queue.state({ ...lane, ...SEARCH })).toEqual(ownState);
    expect(await store.queue.state({ ...lane, subscriber: 'mail' })).toEqual([]);
    for (const id of idsOfAll(newer)) {
      expect(await store.queue.attempts({ id })).toHaveLength(1);
      expect(await store.queue.steps({ id })).toHaveLength(Number(id.endsWith('search')));
    }
  });

  test('has a limit of its own, and is claimed, woken and recovered alone', async () => {
    const { store } = stage;
    await subscribed(store, 'search');
    const [one] = await recorded(store, notified());
    await given(store);
    const id = one?.id ?? '';
    const limit = { kinds: AVAILABLE, room: 0, newest: 0 };
    expect(await polled(store, { ...SEARCH, limits: [limit] })).toEqual([]);
    await store.queue.settle(only(await polled(store)), FAILED);
    await store.queue.settle(only(await polled(store, SEARCH)), FAILED);
    await stage.pass(2000);
    expect(await store.queue.wake(SEARCH)).toEqual(['media:one']);
    expect(await polled(store)).toEqual([]);
    expect(await store.queue.wake()).toEqual(['media:one']);
    expect(idsOf([...(await polled(store)), ...(await polled(store, SEARCH))])).toEqual([id, `${id}@search`]);
    await stage.pass(LEASE_MS + 1);
    const recovered = await store.queue.recover({ ...SEARCH, held: [], maxAttempts: 1 });
    expect(recovered).toMatchObject({ ready: [], dead: [{ id: `${id}@search` }] });
    expect(await store.queue.siblings({ id })).toMatchObject([{ status: 'running' }, { status: 'dead' }]);
    expect(await store.queue.recover({ held: [], maxAttempts: 9 })).toMatchObject({
      ready: ['media:one'],
      dead: [],
    });
  });

  test('has no event ready that was lost twice beside that of another, until that one gives way', async () => {
    const { store } = stage;
    await subscribed(store, 'search');
    await recorded(store, notified('media:a'), notified('media:b'));
    await given(store);
    for (let crash = 0; crash < 2; crash++) {
      for (const whose of [{}, SEARCH]) expect(await polled(store, whose)).toHaveLength(2);
      await stage.pass(LEASE_MS + 1);
      for (const whose of [{}, SEARCH]) await store.queue.recover({ ...whose, held: [], maxAttempts: 9 });
    }
    expect([await store.queue.wake(), await store.queue.wake(SEARCH)]).toMatchObject([
      [expect.any(String)],
      [],
    ]);
    await stage.pass(61_000);
    await store.queue.sweep(SEARCH);
    expect([await store.queue.wake(SEARCH), await store.queue.wake()]).toMatchObject([
      [expect.any(String)],
      [],
    ]);
  });
});

onEachEngine('verbs', (stage) => {
  test.each([
    ['', ['', 'handled', 'handled']],
    ['search', ['handled', 'handled', '']],
    [undefined, ['', '', '']],
  ])('replay and dismiss those of subscriber %j alone', async (subscriber, left) => {
    const { store } = stage;
    await subscribed(store, 'search', 'mail');
    const one = only(await recorded(store, notified()));
    for (const { subscriber } of OTHERS) await given(store, subscriber);
    for (const whose of ALL) await store.queue.settle(only(await polled(store, whose)), HANDLED);
    const statuses = async () => (await store.queue.siblings(one)).map(({ status }) => status);
    const expected = (status: string) => left.map((before) => before || status);
    const meant = left.filter((before) => before === '').length;
    expect(await store.queue.replay({ subscriber })).toEqual({ events: meant, left: 0 });
    expect(await statuses()).toEqual(expected('pending'));
    expect(await store.queue.dismiss({ subscriber }, 'no')).toEqual({ events: meant, left: 0 });
    expect(await statuses()).toEqual(expected('dismissed'));
  });

  test('a subscriber that is removed ends what is pending, gets nothing more, and begins anew where it is subscribed again', async () => {
    const { store } = stage;
    await subscribed(store, 'search');
    const runs = only(await recorded(store, notified('media:runs')));
    await given(store);
    const claim = only(await polled(store, SEARCH));
    const list = await recorded(store, notified('media:one'), notified('media:one'));
    await given(store);
    expect(await store.queue.removeSubscriber('search')).toBe(2);
    expect(await store.queue.removeSubscriber('search')).toBeUndefined();
    for (const { id } of list) {
      const ended = { status: 'dismissed', lastError: 'its subscriber was removed' };
      expect(await store.queue.event({ id: `${id}@search` })).toMatchObject(ended);
    }
    expect(await store.queue.count({ status: 'pending' })).toBe(3);
    expect(await store.queue.settle(claim, HANDLED)).toMatchObject({ isHeld: true });
    await recorded(store, notified());
    expect(await given(store)).toHaveLength(3);
    expect(await store.queue.startSubscriber('search', 0)).toEqual({ events: 0, left: 0 });
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_updated'] });
    const [, last] = await recorded(store, notified(), notified('media:two', 0, { kind: 'media_updated' }));
    expect(await given(store)).toEqual(idsOf([runs, ...list, present(last)]));
    // A removal whose process ended too early is finished by the next one.
    await store.queue.unsubscribe(SEARCH);
    expect(await store.queue.removeSubscriber('search')).toBe(1);
  });

  test('the overview tells how old is what a subscriber was not given yet, and not of the past that it was given', async () => {
    const { store, clock } = stage;
    await recorded(store, notified('media:old'));
    await subscribed(store, 'search');
    await store.queue.startSubscriber('search', 0);
    const oldest = async () => (await store.reports.overview()).subscribers.search;
    const none = { oldestReadyAt: undefined, oldestPendingAt: undefined };
    expect(await oldest()).toMatchObject({ pending: 1, ...none });
    const at = clock.now();
    await recorded(store, notified('media:new'));
    expect(await oldest()).toMatchObject({ pending: 1, oldestReadyAt: at, oldestPendingAt: at });
  });
});

onPostgres('polls of an idle process with three subscribers', (stage) => {
  test('read once each, and begin no other transaction', async () => {
    const { store, texts } = await Stepped.start(stage, 'idle');
    let done = 0;
    const { work, sweep } = store.queue;
    const queue: EventStore['queue'] = {
      ...store.queue,
      work: (asked) => work(asked).finally(() => done++),
      sweep: (asked) => sweep(asked).finally(() => done++),
    };
    const one = { handlers: { media_available() {} } };
    const app = { handlers: {}, subscribers: { search: one, mail: one, digest: one } };
    const rest = { clock: stage.clock, log: logLines().log, random: () => 0.5, config: parseConfig({}) };
    const dispatchers = await dispatchersOf({ ...rest, app, store: { ...store, queue } });
    dispatchers.start();
    await eventually('each has looked and swept', () => done === 8);
    const before = texts.length;
    for (let turn = 1; turn <= 10; turn++) {
      await stage.clock.advance(2000); // a sweep comes every 30 seconds
      await eventually('each has looked', () => done === 8 + 4 * turn);
    }
    await dispatchers.stop(0);
    const sent = texts.slice(before).map((text) => /READ ONLY|COMMIT$|^SELECT/.exec(text)?.[0]);
    expect(sent.toSorted()).toEqual(['COMMIT', 'READ ONLY', 'SELECT'].flatMap((one) => Array(40).fill(one)));
  });
});

test('a move takes every table, but for what is told of processes', async () => {
  const folder = await temporaryDirectory();
  const [from, to] = ['from', 'to'].map((name) => join(folder, `${name}.db`)) as [string, string];
  await (await openStore({ DATABASE_URL: `sqlite:${from}`, clock: systemClock, threads: false })).close();
  const raw = new Driver(from, { readonly: true });
  const tables = raw.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all();
  raw.close();
  const moved = await moveDatabase({ from: `sqlite:${from}`, to: `sqlite:${to}`, onPage() {} });
  const other = ['secrets', 'instances']; // secrets are sealed for the other key
  expect([...moved.map(({ table }) => table), ...other].sort()).toEqual(tables.sort());
});

describeWithPostgres('a move from PostgreSQL', (server) => {
  test('leaves out no reminder, and no notification that comes afterwards, although repeats have taken numbers', async () => {
    const name = await createDatabase(server);
    const from = server.url(name);
    const store = await openStore({ DATABASE_URL: from, clock: systemClock, SECRETS_KEY });
    await subscribed(store, 'search');
    const one = notified();
    for (let again = 0; again < 3; again++) {
      await recorded(store, one, one);
      expect(await given(store)).toEqual([one.id]);
    }
    const reminders = [{ name: 'check', afterMs: 0 }];
    await store.queue.settle(present((await polled(store))[0]), { ...HANDLED, reminders });
    await store.close();
    await leftByPrograms(server, name);
    const to = `sqlite:${join(await temporaryDirectory(), 'to.db')}`;
    await moveDatabase({ from, to, secretsKey: SECRETS_KEY, onPage() {} });
    const moved = await openStore({ DATABASE_URL: to, clock: systemClock, SECRETS_KEY, threads: false });
    const [next] = await recorded(moved, notified());
    expect(await given(moved)).toEqual([one.id, next?.id]);
    expect(await moved.queue.comeDue({})).toEqual([one.resource]);
    await moved.close();
    await dropDatabase(server, name);
  });
});
