import { afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { erase } from '../../src/cli/erase.ts';
import type { Erasure, VerifiedNotification } from '../../src/store/event-store.ts';
import { erasedName } from '../../src/store/stored.ts';
import {
  claimedOne,
  FAILED,
  given,
  HANDLED,
  LEASE_MS,
  notified,
  polled,
  recorded,
  SEARCH,
  statusOf,
} from './desk.ts';
import { onEachEngine, onPostgres, type Stage } from './stages.ts';
import { Stepped } from './stepped.ts';

const PRIVATE = 'media:private';
const CHANNEL = 'channel:private';
const NOTHING = { events: 0, quarantined: 0, running: 0, shared: [] };

/** All that the tables have, as text. */
async function everything({ sql }: Stage): Promise<string> {
  const tables = 'events lanes attempts steps state reminders channels quarantine audit meta'.split(' ');
  const rows = await Array.fromAsync(tables, (table) => sql(`SELECT * FROM ${table}`));
  return JSON.stringify(rows);
}

const SOURCE = '203.0.113.7';
const unproven = (resource: string, token: string) => ({ ...notified(resource), token, source: SOURCE });

onEachEngine('erasing', (stage) => {
  /** Erases by a clock whose pauses are over once something has happened meanwhile. */
  const erased = (what: Erasure, meanwhile = async () => {}) => {
    const after = (_: number, fn: () => unknown) => {
      meanwhile().then(fn);
      return () => {};
    };
    return erase(stage.store, what, { clock: { now: () => 0, after }, onStep: () => {} });
  };
  const noted = (change: object) =>
    stage.store.reports.changeBegan({ what: 'replay', filters: JSON.stringify(change), who: '' });

  test('leaves the digest of a channel, and nothing of what was stored for it in any table', async () => {
    const { store } = stage;
    const more = {
      kind: 'channel_active',
      request: 'request-private',
      trace: 'trace-private',
      body: '{"channel_id":"private"}',
    };
    const list = [0, 1, 2, 3].map((seconds) => notified(CHANNEL, seconds, more));
    await store.queue.subscribe({ ...SEARCH, kinds: ['channel_active'] });
    await recorded(store, ...list, notified('media:other'));
    const claim = await claimedOne(store, CHANNEL);
    await store.queue.saveStep({ ...claim, name: 'step', result: '"private"' });
    const state = [{ name: 'private', value: '1' }];
    await store.queue.settle(claim, {
      ...HANDLED,
      state,
      reminders: [{ name: 'private', afterMs: 9e8, data: '1' }],
    });
    const said = { error: 'private', log: 'private' };
    const dead = { ...FAILED, ...said, status: 'dead', afterMs: undefined } as const;
    await store.queue.settle(await claimedOne(store, CHANNEL), { ...FAILED, ...said });
    await store.queue.settle(await claimedOne(store, CHANNEL), dead);
    await given(store);
    const [own] = await polled(store, SEARCH);
    if (own) await store.queue.settle({ ...own, ...SEARCH }, { ...HANDLED, state });
    await store.quarantine.add(unproven(CHANNEL, 'private'), 100_000);
    await store.quarantine.add(unproven('media:other', 'other'), 100_000);
    await noted({ resource: CHANNEL, q: 'private' });
    expect(await everything(stage)).toContain('private');

    expect(await erased({ resource: CHANNEL })).toEqual({ ...NOTHING, events: 8, quarantined: 1 });
    expect(await everything(stage)).not.toContain('private');
    expect(await stage.sql('SELECT resource FROM channels')).toEqual([]);
    expect(await stage.sql('SELECT filters FROM audit')).toEqual([
      { filters: JSON.stringify({ resource: erasedName(CHANNEL), q: erasedName(CHANNEL) }) },
    ]);
    const ends = await Promise.all(list.map(({ id }) => statusOf(store, id)));
    expect(ends).toEqual(['handled', 'dismissed', 'dismissed', 'dismissed']);
    expect(await store.queue.event({ id: list[0]?.id ?? '' })).toMatchObject({ webhookId: 'webhook1' });
    expect(await store.quarantine.size()).toBe(1);
    expect((await polled(store)).map(({ resource }) => resource)).toEqual(['media:other']);
  });

  test('stops repeats, imports and reconciling of what it erased, for subscribers too, and takes what is new', async () => {
    const { store } = stage;
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] });
    const [one] = (await recorded(store, notified(PRIVATE))) as [VerifiedNotification];
    expect(await erased({ resource: PRIVATE })).toMatchObject({ events: 1 });
    for (const origin of ['notification', 'import', 'reconciled'] as const)
      expect(await store.queue.record({ ...one, origin })).toMatchObject({ status: 'duplicate' });
    const { kind, resource, eventTime } = one;
    const looked = { kind, resource, eventTime };
    const list = [looked, { ...looked, eventTime: eventTime + 1 }];
    expect(await store.queue.missing({ list })).toEqual([{ at: 1 }]);
    expect(await store.queue.replay({})).toEqual({ events: 0, left: 0 });
    expect([await given(store), await polled(store)]).toEqual([[], []]);
    expect(await store.queue.startSubscriber('search', 0)).toMatchObject({ events: 0 });
    await recorded(store, notified(PRIVATE, 1));
    expect(await polled(store)).toMatchObject([{ resource: PRIVATE }]);
  });

  test('leaves what a handler runs until it has ended, and erases it then', async () => {
    const { store } = stage;
    await recorded(store, notified(PRIVATE), notified(PRIVATE, 1));
    const claim = await claimedOne(store, PRIVATE);
    let pauses = 0;
    const settled = async () => {
      if (++pauses < 3) return;
      if (pauses > 3) throw new Error('it is over');
      expect(await statusOf(store, claim.id)).toBe('running');
      const left = [{ name: 'private', value: '1' }];
      expect(await store.queue.settle(claim, { ...HANDLED, state: left })).toMatchObject({ isHeld: true });
    };
    expect(await erased({ resource: PRIVATE }, settled)).toEqual({ ...NOTHING, events: 2 });
    expect(await everything(stage)).not.toContain('private');
    expect(pauses).toBe(3);
  });

  test('takes what a process ran that has crashed', async () => {
    await recorded(stage.store, notified(PRIVATE), notified(PRIVATE, 1));
    await claimedOne(stage.store, PRIVATE);
    await stage.pass(LEASE_MS + 1);
    expect(await erased({ resource: PRIVATE })).toEqual({ ...NOTHING, events: 2 });
    expect(await stage.sql('SELECT 1 FROM lanes')).toEqual([]);
  });

  test('gives up after a minute, with the number of what runs still, of each subscriber', async () => {
    const { store } = stage;
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] });
    await recorded(store, notified(PRIVATE), notified(PRIVATE, 1));
    await given(store);
    const [claim] = await polled(store, SEARCH);
    await claimedOne(store, PRIVATE);
    expect(await erased({ site: 'site1' })).toEqual({ ...NOTHING, running: 2 });
    expect(await store.queue.count({ resource: PRIVATE })).toBe(4);
    if (claim) await store.queue.settle({ ...claim, ...SEARCH }, HANDLED);
    expect(await erased({ site: 'site1' })).toEqual({ ...NOTHING, events: 2, running: 1 });
  });

  test('of a site leaves resources that have events of others, names them, and takes all others with all that they have', async () => {
    const { store } = stage;
    const own = { siteId: 'private', body: 'private' };
    await recorded(
      store,
      notified('media:private1', 0, own),
      notified('media:private1', 1, { siteId: '', body: 'private' }),
      notified('media:private2', 2, own),
      notified('media:shared', 3, { siteId: 'private' }),
      notified('media:shared', 4),
      notified('media:other', 5),
    );
    await store.quarantine.add({ ...unproven('media:other', 'one'), siteId: 'private' }, 100_000);
    await noted({ site: 'private', ids: ['media:private2'], media: 'private1' });
    const found = await erased({ site: 'private' });
    expect(found).toEqual({ events: 3, quarantined: 1, running: 0, shared: ['media:shared'] });
    const left = await stage.sql<{ id: string }>("SELECT * FROM events WHERE resource NOT LIKE 'erased:%'");
    expect(left).toHaveLength(3);
    expect((await everything(stage)).match(/[^"]*private[^"]*/g)).toEqual(['private']); // the shared one's site
  });

  test('goes on in steps, as far as there are events', async () => {
    const { store } = stage;
    const list = Array.from({ length: 1100 }, (_, n) => notified(`media:${n % 3 ? n : 'hot'}`, n));
    await Promise.all(list.map((one) => store.queue.record(one)));
    const steps: number[] = [];
    const how = { clock: stage.clock, onStep: (events: number) => steps.push(events) };
    expect(await erase(store, { site: 'site1' }, how)).toEqual({ ...NOTHING, events: 1100 });
    expect(steps.toSorted((one, other) => one - other)).toEqual(steps);
    expect(steps.length).toBeGreaterThan(2);
    expect(await stage.sql('SELECT 1 FROM lanes')).toEqual([]);
  });

  test('takes what a replay holds, and the replay makes nothing ready of it', async () => {
    const { store } = stage;
    const [one] = await recorded(store, notified(PRIVATE));
    await store.queue.settle(await claimedOne(store, PRIVATE), HANDLED);
    const replay = await store.queue.replay(
      {},
      { onStep: async () => void (await erased({ resource: PRIVATE })) },
    );
    expect(replay).toMatchObject({ events: 1 });
    await stage.pass(2 * 3_600_000);
    await store.queue.wake();
    expect(await polled(store)).toEqual([]);
    expect(await statusOf(store, one?.id ?? '')).toBe('dismissed');
  });
});

onPostgres('an erase beside another transaction', (stage) => {
  let a: Stepped;
  let b: Stepped;
  beforeAll(async () => {
    [a, b] = [await Stepped.start(stage, 'erases'), await Stepped.start(stage, 'beside')];
  });
  beforeEach(() => a.store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] }));
  afterEach(() => expect([...a.errors.splice(0), ...b.errors.splice(0)]).toEqual([]));

  const how = { clock: stage.clock, onStep: () => {} };
  const erasing = (store: Stepped['store']) => erase(store, { resource: PRIVATE }, how);
  const FIND = /^SELECT seq, resource FROM events/;

  test('has what is recorded wait, also where no lane is open, so that it never takes what runs', async () => {
    await recorded(a.store, notified(PRIVATE));
    await a.store.queue.settle(await claimedOne(a.store, PRIVATE), HANDLED);
    const go = await a.upTo(FIND, erasing);
    const recording = await b.waits((store) => store.queue.record(notified(PRIVATE, 1)));
    await go();
    await recording.result;
    expect((await stage.sql("SELECT 1 FROM events WHERE resource LIKE 'erased:%'")).length).toBeGreaterThan(
      0,
    );
  });

  test('waits for a settlement, a fan out and a reminder that comes due, and takes what they leave', async () => {
    for (const [statement, operate] of [
      [
        /^UPDATE events SET status/,
        async (store: Stepped['store']) => {
          const reminders = [{ name: 'later', afterMs: 1, data: '1' }];
          await store.queue.settle(await claimedOne(store, PRIVATE), { ...HANDLED, reminders });
        },
      ],
      [/^INSERT INTO events \(id, subscriber/, (store: Stepped['store']) => store.queue.wake(SEARCH)],
      [
        /^INSERT INTO events \(id, subscriber/,
        async (store: Stepped['store']) => {
          const columns = 'resource, name, due_at, set_at, data';
          await stage.sql(`INSERT INTO reminders (${columns}) VALUES ('${PRIVATE}', 'later', 1, 1, 'null')`);
          await store.queue.comeDue({});
        },
      ],
    ] as const) {
      await recorded(b.store, notified(PRIVATE));
      const go = await b.upTo<unknown>(statement, operate);
      const erasure = await a.waits(erasing);
      await go();
      expect(await erasure.result).toMatchObject({ running: 0 });
      expect(await everything(stage)).not.toContain(PRIVATE);
    }
  });

  test('of a site leaves an event of another site that comes after it has looked for such', async () => {
    await recorded(a.store, notified(PRIVATE));
    const go = await a.upTo(/^SELECT name FROM subscribers .* FOR UPDATE/, (store) =>
      erase(store, { site: 'site1' }, how),
    );
    const [late] = await recorded(b.store, notified(PRIVATE, 1, { siteId: 'site2' }));
    expect(await go()).toMatchObject({ events: 1, shared: [] });
    expect(await statusOf(b.store, late?.id ?? '')).toBe('pending');
    await stage.pass(LEASE_MS);
    expect(await polled(b.store)).toMatchObject([{ id: late?.id }]);
  });

  test('does not get in the way of a subscriber that is removed', async () => {
    await recorded(a.store, notified(PRIVATE));
    await given(a.store);
    const columns = 'subscriber, resource, name, due_at, set_at, data';
    await stage.sql(
      `INSERT INTO reminders (${columns}) VALUES ('search', '${PRIVATE}', 'later', 1e15, 1, 'null')`,
    );
    const go = await b.upTo(/^(DELETE FROM reminders|UPDATE subscribers)/, (store) =>
      store.queue.removeSubscriber('search'),
    );
    const erasure = await a.goes(erasing);
    await go();
    await erasure.result;
  });
});
