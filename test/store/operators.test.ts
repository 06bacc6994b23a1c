import { expect, test } from '@jest/globals';
import type { EventStore, Refusals, Report, Settlement } from '../../src/store/event-store.ts';
import { present } from '../support/only.ts';
import {
  claimedOne,
  FAILED,
  HANDLED,
  LEASE_MS,
  MOST,
  NOON,
  notified,
  polled,
  recorded,
  statusOf,
} from './desk.ts';
import { onEachEngine } from './stages.ts';

const HOUR_MS = 3_600_000;
const dead = (error: string): Settlement => ({ ...HANDLED, status: 'dead', outcome: 'failed', error });

onEachEngine('dismissing', (stage) => {
  test('ends what is pending or dead, leaves the rest and what runs alone, and closes the lanes', async () => {
    const { store } = stage;
    const [ready, waits, died, done, runs] = await recorded(
      store,
      ...['ready', 'waits', 'died', 'done', 'runs'].map((name) => notified(`media:${name}`)),
    );
    await store.queue.settle(await claimedOne(store, 'media:waits'), FAILED);
    await store.queue.settle(await claimedOne(store, 'media:died'), dead('no'));
    await store.queue.settle(await claimedOne(store, 'media:done'), HANDLED);
    const claim = await claimedOne(store, 'media:runs');
    const counts: number[] = [];
    const onStep = (ids: readonly string[]) => void counts.push(ids.length);
    expect(await store.queue.tally({})).toMatchObject({ events: 5, dismissible: 3 });
    expect(await store.queue.dismiss({}, 'not needed', { onStep })).toEqual({ events: 3, left: 1 });
    expect(counts.reduce((sum, one) => sum + one)).toBe(3);
    for (const one of [ready, waits, died])
      expect(await store.queue.event({ id: one?.id ?? '' })).toMatchObject({
        status: 'dismissed',
        lastError: 'not needed',
        nextAttemptAt: undefined,
      });
    expect(await store.queue.dismiss({ status: 'handled' }, 'no')).toEqual({ events: 0, left: 0 });
    expect(await statusOf(store, done?.id ?? '')).toBe('handled');
    expect(await store.queue.settle(claim, HANDLED)).toMatchObject({ isHeld: true });
    expect(await statusOf(store, runs?.id ?? '')).toBe('handled');
    expect(await polled(store)).toEqual([]);
    expect(await stage.sql('SELECT resource FROM lanes')).toEqual([]);
    expect(await store.reports.overview()).toMatchObject({ pending: 0, dead: 0, oldestPendingAt: undefined });
  });

  test('tells how many run at its end, when a handler has taken some meanwhile', async () => {
    const { store } = stage;
    await recorded(store, notified('media:died'), notified('media:taken'));
    await store.queue.settle(await claimedOne(store, 'media:died'), dead('no'));
    const onStep = async () => void (await polled(store));
    expect(await store.queue.dismiss({}, 'no', { onStep })).toEqual({ events: 1, left: 1 });
  });

  test('by the removal of a subscriber ends also what its last process ran when that crashed', async () => {
    const { store } = stage;
    const search = { subscriber: 'search' };
    await store.queue.subscribe({ ...search, kinds: ['media_available'] });
    await recorded(store, notified('media:runs'));
    await store.queue.wake(search);
    const [claim] = await polled(store, search);
    await stage.pass(LEASE_MS + 1);
    expect(await store.queue.removeSubscriber('search')).toBe(1);
    expect(await statusOf(store, claim?.id ?? '')).toBe('dismissed');
    const { subscribers } = await store.reports.overview();
    expect(subscribers).toMatchObject({ search: { pending: 0, running: 0 }, '': { pending: 1 } });
  });
});

onEachEngine('a pause', (stage) => {
  test('keeps every process from starting anything, until handling is resumed', async () => {
    const { store, clock } = stage;
    const other = await stage.another();
    await recorded(store, notified('media:one'), notified('media:two'));
    const running = await claimedOne(store, 'media:two');
    await store.queue.pause({ reason: 'the archive is down', by: 'Ada' });
    for (const one of [store, other]) expect(await polled(one)).toEqual([]);
    const paused = { reason: 'the archive is down', by: 'Ada', since: clock.now() };
    expect(await other.reports.overview()).toMatchObject({ pending: 1, running: 1, paused });
    expect(await store.queue.settle(running, HANDLED)).toMatchObject({ isHeld: true });
    await recorded(store, notified('media:three'));
    expect(await other.queue.resume()).toBe(true);
    expect(await polled(store)).toHaveLength(2);
    expect(await store.queue.resume()).toBe(false);
    expect((await store.reports.overview()).paused).toBeUndefined();
  });
});

onEachEngine('reports', (stage) => {
  const kinds = ['media_created', 'unknown'];
  const instance = (name: string, running = 0) => ({
    ...{ name, version: '1.0.0', startedAt: NOON, running, kinds },
  });
  const report = (one: ReturnType<typeof instance>, more: Partial<Report> = {}) =>
    stage.store.reports.report({ instance: one, stats: [], refusals: [], ...more });

  test('tell which processes live, which have left or are away, and what has taken their place, for an hour', async () => {
    const { store } = stage;
    const pass = (ms: number) =>
      stage.sql(`UPDATE instances SET seen_at = seen_at - ${ms}, clock_at = clock_at - ${ms},
        started_at = started_at - ${ms}`);
    const told = async () =>
      (await store.reports.instances()).map(({ name, running, state }) => `${name} ${running} ${state}`);
    for (const name of ['b', 'a', 'left', 'host-0123abcd', 'host-1123abcd']) await report(instance(name, 2));
    await store.reports.leave({ name: 'left', startedAt: NOON });
    const live = ['a 2 live', 'b 2 live', 'host-0123abcd 2 live', 'host-1123abcd 2 live', 'left 2 left'];
    expect(await told()).toEqual(live);
    await pass(40_000);
    for (const name of ['b', 'host-2123abcd'])
      await report({ ...instance(name), startedAt: stage.clock.now() });
    const [replaced, began] = ['2 replaced', '0 live'];
    const lives = [`b ${replaced}`, `b ${began}`, ...[0, 1].map((n) => `host-${n}123abcd ${replaced}`)];
    expect(await told()).toEqual(['a 2 away', ...lives, `host-2123abcd ${began}`, 'left 2 left']);
    await store.reports.forget({ name: 'b' });
    await pass(HOUR_MS + 1);
    await report(instance('c'));
    expect(await told()).toEqual(['c 0 live']);
  });

  test('give the lease of alerts to one process, until half a minute after its renewal, with what was posted last', async () => {
    const { reports } = stage.store;
    const other = (await stage.another()).reports;
    const alerts = { postedAt: NOON, faults: [] };
    const [one, two] = await Promise.all([reports.holdAlerts({ by: 'a' }), other.holdAlerts({ by: 'b' })]);
    const [by, next] = one ? ['a', 'b'] : ['b', 'a'];
    expect([one, two].filter(Boolean)).toMatchObject([{ postedAt: 0, faults: [] }]);
    await stage.pass(20_000);
    expect(await reports.holdAlerts({ by, alerts })).toMatchObject(alerts);
    await stage.pass(20_000);
    expect(await other.holdAlerts({ by: next })).toBeUndefined();
    await stage.pass(10_001);
    expect(await other.holdAlerts({ by: next })).toMatchObject(alerts);
    await stage.pass(30_001);
    const late = { postedAt: NOON + 1, faults: [] };
    expect(await reports.holdAlerts({ by, alerts: late })).toBeUndefined();
    expect(await reports.holdAlerts({ by })).toMatchObject(alerts);
  });

  test('add up refusals by reason, webhook and network, and keep the thousand that were last, and the last one of a webhook with a secret, whose row ends once something is accepted', async () => {
    const { store } = stage;
    const group = (n: number, more: Partial<Refusals> = {}): Refusals => {
      const times = { firstAt: NOON + n, lastAt: NOON + n, count: 1, inARow: 1, rowSince: NOON + n };
      const from = { webhookId: `webhook${n}`, network: '203.0.113.0/24' };
      return { reason: 'bad_signature', ...from, ...times, ...more };
    };
    await store.secrets.add('webhook1', 'a secret');
    const refusals = Array.from({ length: 1000 }, (_, n) => group(n));
    await report(instance('a'), { refusals });
    const later = { firstAt: NOON + 5000, lastAt: NOON + 5000, count: 4, inARow: 4, rowSince: NOON + 5000 };
    const more = [
      group(7, later),
      group(1001),
      group(0, { webhookId: 'webhook1', network: 'another' }),
      group(1002),
    ];
    await report(instance('b'), { refusals: more, accepted: ['webhook1', 'none'] });
    const found = await store.reports.refusals();
    const last = [group(7, { lastAt: NOON + 5000, count: 5, inARow: 5 }), group(1002), group(1001)];
    expect(found.slice(0, 3)).toEqual(last);
    expect(found.slice(1000)).toEqual([group(1, { inARow: 0, rowSince: undefined })]);
  });
});

onEachEngine('problems', (stage) => {
  test('are groups of like errors of a kind and site, which a filter finds again', async () => {
    const { store, clock } = stage;
    const events = [
      ['media:UUhbHm6C', dead('Error: archive answered 503 for UUhbHm6C after 1200 ms\n    at file.ts:1:2')],
      ['media:abcdefgh', dead('Error: archive answered 503 for abcdefgh after 503 ms')],
      ['media:zyxwvuts', dead('Error: archive answered 404 for zyxwvuts after 7 ms')],
      ['channel:Ny05CE', { ...FAILED, error: '100 %_! done' }],
    ] as const;
    await recorded(store, notified('media:waits'));
    const asks = { ...FAILED, outcome: 'retry', error: 'not yet', startedAt: NOON + 1000 } as const;
    for (const end of [FAILED, asks]) {
      await store.queue.settle(await claimedOne(store, 'media:waits'), end);
      await stage.pass(1001);
      if (end === FAILED) await store.queue.wake();
    }
    for (const [resource, end] of events) {
      await recorded(store, notified(resource));
      await store.queue.settle(await claimedOne(store, resource), end);
      await clock.advance(1000);
    }
    const [first, ...others] = await store.queue.problems();
    expect(first).toMatchObject({
      error: 'Error: archive answered 503 for * after * ms',
      kind: 'media_available',
      siteId: 'site1',
      status: 'dead',
      count: 2,
    });
    expect(Number(first?.lastAt) - Number(first?.firstAt)).toBe(1000);
    const waits = { status: 'pending', count: 1, nextAt: expect.any(Number) };
    expect(others).toMatchObject([
      { ...waits, error: '* %_! done', failedSince: FAILED.startedAt },
      { error: 'Error: archive answered 404 for * after * ms', count: 1, nextAt: undefined },
    ]);
    for (const { error, count } of [first, ...others].filter((one) => one !== undefined))
      expect(await store.queue.count({ error })).toBe(count);
    expect(await store.queue.count({ error: '* ms' })).toBe(3);
    expect(await store.queue.count({ error: 'at file*' })).toBe(0);
  });
});

onEachEngine('an event that waits', (stage) => {
  test('asked for it or failed, unless it was lost twice, is for another process, or a replay holds it', async () => {
    const { store } = stage;
    const ends: Readonly<Record<string, Settlement>> = {
      'media:asked': { ...FAILED, outcome: 'retry' },
      'media:failed': { ...FAILED, outcome: 'timeout' },
      'media:elsewhere': { ...FAILED, outcome: 'elsewhere' },
      'media:held': FAILED,
      'media:suspect': FAILED,
      'media:dead': dead('no'),
    };
    await recorded(store, notified('media:suspect'));
    for (let crashes = 0; crashes < 2; crashes++) {
      await claimedOne(store, 'media:suspect');
      await stage.pass(LEASE_MS + 1);
      await store.queue.recover(MOST);
      await store.queue.wake();
    }
    const others = Object.keys(ends).filter((name) => name !== 'media:suspect');
    await recorded(store, ...others.map((name) => notified(name)));
    for (const claim of await polled(store)) await store.queue.settle(claim, FAILED);
    expect(await store.queue.count({ waiting: 'failed' })).toBe(5);
    await stage.pass(1001);
    await store.queue.wake();
    expect(await store.queue.count({ waiting: 'failed' })).toBe(0);
    const claims = await polled(store);
    for (const claim of claims) await store.queue.settle(claim, present(ends[claim.resource]));
    const meant = claims.filter(({ resource }) => resource === 'media:held');
    const held = { subscriber: '', events: meant, heldBy: stage.clock.now() + HOUR_MS, resetSteps: false };
    // As where it was looked up before it failed.
    expect((await store.queue.reset({ ...held, still: 'asked' })).ids).toEqual([]);
    expect((await store.queue.reset({ ...held, still: 'failed' })).ids).toHaveLength(1);
    const { events } = await store.queue.search({ limit: 10 });
    expect(Object.fromEntries(events.map(({ resource, waiting }) => [resource, waiting]))).toEqual({
      'media:asked': 'asked',
      'media:failed': 'failed',
      'media:elsewhere': undefined,
      'media:held': undefined,
      'media:suspect': undefined,
      'media:dead': undefined,
    });
  });
});

onEachEngine('replay', (stage) => {
  test('holds all events until the last is reset, then releases them in the order of their times', async () => {
    const { store } = stage;
    const list = Array.from({ length: 520 }, (_, n) => notified('media:one', 1000 - n));
    await Promise.all(list.map((one) => store.queue.record(one)));
    await stage.sql("UPDATE events SET status = 'handled', handled_at = 1, ended_at = 1");
    await stage.sql('DELETE FROM lanes');
    const ready: number[] = [];
    const readyNow = async () => {
      const [row] = await stage.sql<{ n: number }>(
        'SELECT count(*) AS n FROM events WHERE next_at IS NULL AND ended_at IS NULL',
      );
      ready.push(Number(row?.n));
    };
    const steps: number[] = [];
    const onStep = async (ids: readonly string[]) => {
      steps.push(ids.length);
      await readyNow();
    };
    await store.queue.replay({}, { onStep, onReady: readyNow });
    expect([steps, ready]).toEqual([
      [500, 20],
      [0, 0, 500, 520],
    ]);
    expect(await claimedOne(store, 'media:one')).toMatchObject({ id: list.at(-1)?.id, late: false });
  });

  test('makes what it has reset ready, when it is interrupted', async () => {
    const { store } = stage;
    const list = Array.from({ length: 510 }, (_, n) => notified(`media:${n}`));
    await Promise.all(list.map((one) => store.queue.record(one)));
    await stage.sql("UPDATE events SET status = 'skipped', ended_at = 1");
    const stop = new AbortController();
    const onStep = () => stop.abort();
    expect(await store.queue.replay({}, { onStep, signal: stop.signal })).toMatchObject({ events: 500 });
    const byPlace = await stage.sql<{ id: string }>(
      "SELECT id FROM events WHERE status = 'pending' ORDER BY seq",
    );
    expect(byPlace).toHaveLength(500);
  });

  test('is finished by another process after an hour, by event time, when its own ended in between', async () => {
    const { store } = stage;
    const list = Array.from({ length: 600 }, (_, n) => notified(`media:${n}`, 600 - n));
    await Promise.all(list.map((one) => store.queue.record(one)));
    await stage.sql("UPDATE events SET status = 'handled', ended_at = 1, handled_at = 1");
    await stage.sql('DELETE FROM lanes');
    // As if its process ended here: it finds nothing to release.
    const other = '(SELECT max(held_by) + 1 FROM events)';
    const onStep = async () =>
      void (await stage.sql(`UPDATE events SET next_at = ${other}, held_by = ${other}`));
    await store.queue.replay({}, { onStep });
    expect(await store.reports.overview()).toMatchObject({ waiting: 600 });
    expect(await store.queue.wake()).toEqual([]);
    await stage.pass(HOUR_MS + 61_000);
    const byTime = list.map(({ resource }) => resource).toReversed();
    expect((await store.queue.wake()).toSorted()).toEqual(byTime.slice(0, 500).toSorted());
    expect((await store.queue.wake()).toSorted()).toEqual(byTime.slice(500).toSorted());
    expect(await store.reports.overview()).toMatchObject({ waiting: 0, pending: 600 });
  });
});

onEachEngine('prune', (stage) => {
  test('empties what ended before a time, but for dead events, and keeps identities', async () => {
    const { store } = stage;
    const ends = ['handled', 'skipped', 'dead', 'handled'] as const;
    const list = await recorded(
      store,
      ...ends.map((_, n) => notified(`media:${n}`)),
      notified('media:ready'),
    );
    for (const [n, status] of ends.entries()) {
      const claim = await claimedOne(store, `media:${n}`);
      await store.queue.saveStep({ ...claim, ...{ name: 'mail', result: '1' } });
      await store.queue.settle(claim, { ...HANDLED, status, startedAt: 1000 * n, ms: 0 });
    }
    await stage.sql(`UPDATE events SET status = 'dismissed', ended_at = 1 WHERE resource = 'media:ready'`);
    expect([
      await store.queue.prune({ before: 3000, limit: 2 }),
      await store.queue.prune({ before: 3000, limit: 2 }),
      await store.queue.prune({ before: 3000, limit: 2 }),
    ]).toEqual([2, 1, 0]);
    const [handled, , dead, kept] = await Promise.all(list.map(({ id }) => store.queue.event({ id })));
    expect([handled?.body, dead?.body, kept?.body]).toEqual([undefined, list[2]?.body, list[3]?.body]);
    expect(handled).toMatchObject({ status: 'handled', resource: 'media:0' });
    expect([
      await store.queue.attempts({ id: list[0]?.id ?? '' }),
      await store.queue.steps({ id: list[0]?.id ?? '' }),
    ]).toEqual([[], []]);
    expect(await store.queue.steps({ id: list[3]?.id ?? '' })).toHaveLength(1);
    expect(await store.queue.record(notified('media:0', 0, { ...list[0] }))).toMatchObject({
      status: 'duplicate',
    });
    expect(await store.queue.replay({})).toMatchObject({ events: 2 });
  });
});

onEachEngine('state', (stage) => {
  test('of all media or channels comes in stretches, in order, each value once', async () => {
    const { store } = stage;
    const names = Array.from({ length: 3 }, (_, n) => `media:${n}`);
    await recorded(store, ...names.map((name) => notified(name)), notified('channel:x'));
    const many = Array.from({ length: 250 }, (_, n) => ({
      name: `n${String(n).padStart(3, '0')}`,
      value: String(n),
    }));
    for (const claim of await polled(store)) await store.queue.settle(claim, { ...HANDLED, state: many });
    const first = await store.queue.states({ of: 'media' });
    const second = await store.queue.states({ of: 'media', after: first.at(-1) });
    const found = [...first, ...second].map((one) => `${one.resource} ${one.name}`);
    expect(found).toEqual(names.flatMap((resource) => many.map(({ name }) => `${resource} ${name}`)));
    expect([first.length, second.length]).toEqual([500, 250]);
    expect(await store.queue.states({ of: 'media', after: second.at(-1) })).toEqual([]);
    expect((await store.queue.states({ of: 'channel' }))[7]).toEqual({
      resource: 'channel:x',
      name: 'n007',
      value: '7',
    });
  });
});

const SECRET = 'a-secret-that-nobody-else-may-read';

const live = async (store: EventStore) =>
  (await store.secrets.live()).map(({ webhookId, secret }) => [webhookId, secret]);

onEachEngine('secrets', (stage) => {
  test('open only in their own row: one that was put in place of another opens nothing', async () => {
    const { store } = stage;
    await store.secrets.add('webhook1', SECRET);
    await store.secrets.add('webhook2', 'of-somebody-else');
    await stage.sql(
      "UPDATE secrets SET sealed = (SELECT s.sealed FROM secrets s WHERE s.webhook_id = 'webhook2') WHERE webhook_id = 'webhook1'",
    );
    expect(await live(store)).toEqual([['webhook2', 'of-somebody-else']]);
    await stage.sql("UPDATE secrets SET webhook_id = 'webhook3' WHERE webhook_id = 'webhook2'");
    expect(await live(store)).toEqual([]);
    await stage.sql("UPDATE secrets SET webhook_id = 'webhook2' WHERE webhook_id = 'webhook3'");
    expect(await live(store)).toHaveLength(1);
    await store.secrets.retire('webhook2', 'of-somebody-else', 1);
    await stage.sql('UPDATE secrets SET retire_at = NULL');
    expect(await live(store)).toEqual([]);
  });
});
