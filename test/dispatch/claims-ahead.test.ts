import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { ClaimsAhead } from '../../src/dispatch/claims-ahead.ts';
import type { Claim, ClaimRequest } from '../../src/store/event-store.ts';
import { eachWithStage, LEASE_MS } from '../support/dispatch-stage.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());

const HANDLERS = 2;
const EVENTS = 24;
const QUICK = 12;

/** Handlers of which the first return at once, and the others when they are told to. */
function quickAndThenHeld(quick = QUICK, onStart = () => {}) {
  const ends: (() => void)[] = [];
  let started = 0;
  return {
    handlers: {
      media_available: () => {
        started++;
        onStart();
        return started > quick ? new Promise<void>((resolve) => ends.push(resolve)) : undefined;
      },
    },
    started: () => started,
    endAll: () => ends.splice(0).forEach((end) => void end()),
  };
}

async function recordMany(record: ReturnType<typeof stage>['record'], events = EVENTS) {
  const ids = [];
  for (let number = 0; number < events; number++) {
    ids.push(await record({ media_id: `media-${number}`, at: EVENT_TIME + number * 1000 }));
  }
  return ids;
}

describe('claims ahead of free handlers', () => {
  test('are made while handlers are quick, and wait in their order for a handler to be free', async () => {
    const { store, record, start, pass } = stage();
    await recordMany(record);
    const { handlers, started, endAll } = quickAndThenHeld();
    await start(handlers, { concurrency: HANDLERS });
    expect(started()).toBe(QUICK + HANDLERS);
    const running = await store.count({ status: 'running' });
    expect(running).toBeGreaterThan(HANDLERS);
    expect(running).toBeLessThanOrEqual(HANDLERS * 5);
    endAll();
    await pass(0);
    expect(started()).toBe(QUICK + 2 * HANDLERS);
  });

  test('are given back within two seconds, when handlers have become slow, as if they had not been claimed', async () => {
    const { store, record, start, pass, event } = stage();
    const ids = await recordMany(record);
    const { handlers, started } = quickAndThenHeld();
    await start(handlers, { concurrency: HANDLERS });
    await pass(2000);
    expect(await store.count({ status: 'running' })).toBe(HANDLERS);
    expect(started()).toBe(QUICK + HANDLERS);
    const events = await Promise.all(ids.map(event));
    const pending = events.filter(({ status }) => status === 'pending');
    expect(pending).toHaveLength(EVENTS - QUICK - HANDLERS);
    expect(pending.every(({ starts, lastError }) => starts === 0 && lastError === undefined)).toBe(true);
    for (const { id } of pending) expect(await store.attempts(id)).toEqual([]);
  });

  test('are not started, when the process was stopped for longer than their lease: another one has handled them', async () => {
    const { clock, store, record, start, pass, logged } = stage();
    await recordMany(record);
    const { handlers, started, endAll } = quickAndThenHeld();
    const isStopped = { now: () => clock.now(), monotonic: () => clock.monotonic(), after: () => () => {} };
    await start(handlers, { concurrency: HANDLERS, clock: isStopped });
    const before = started();
    expect(before).toBeGreaterThanOrEqual(QUICK);
    const ran: string[] = [];
    await start({ media_available: (_event, ctx) => void ran.push(ctx.id) });
    await pass(4 * LEASE_MS);
    expect(ran).toHaveLength(EVENTS - QUICK);
    expect(await store.count({ status: 'handled' })).toBe(EVENTS);
    endAll();
    await pass(0);
    expect(started()).toBe(before);
    expect(
      logged('the lease was lost before the handler began; another process has the event').length,
    ).toBeGreaterThan(0);
  });

  test('are given back at once, when the process stops', async () => {
    const { store, record, start, pass } = stage();
    await recordMany(record);
    const { handlers, endAll } = quickAndThenHeld();
    const { dispatcher } = await start(handlers, { concurrency: HANDLERS });
    const stopped = dispatcher.stop(1000);
    await pass(0);
    expect(await store.count({ status: 'running' })).toBe(HANDLERS);
    endAll();
    await pass(1000);
    expect(await stopped).toBe(0);
    expect(await store.count({ status: 'running' })).toBe(0);
    expect(await store.count({ status: 'pending' })).toBe(EVENTS - QUICK - HANDLERS);
  });

  test('are not made, when handlers are slow', async () => {
    const { clock, store, record, start, pass } = stage();
    await recordMany(record);
    const media_available = () => new Promise<void>((resolve) => clock.after(60, resolve));
    await start({ media_available }, { concurrency: HANDLERS });
    for (let turn = 0; turn < 5; turn++) {
      await pass(60);
      expect(await store.count({ status: 'running' })).toBe(HANDLERS);
    }
  });

  test.each([
    { runs: 'on a server', come: 'few', most: 8 * EVENTS },
    { runs: 'on a server', come: 'as many as are handled', most: 5 * HANDLERS },
    { runs: 'on a thread', come: 'none', most: 8 * EVENTS },
    { runs: 'on a thread', come: 'few', most: 5 * HANDLERS },
    { runs: 'here', come: 'none', most: 5 * HANDLERS },
  ] as const)(
    'are $most at most, of a store that runs $runs, while $come come',
    async ({ runs, come, most }) => {
      const { store, record, start, quiet } = stage();
      let onStart = () => {};
      const { handlers, endAll } = quickAndThenHeld(10 * EVENTS, () => onStart());
      const { dispatcher } = await start(handlers, { concurrency: HANDLERS, runs });
      if (come === 'as many as are handled') onStart = () => dispatcher.wakeSoon();
      await recordMany(record, 20 * EVENTS);
      if (come === 'few') dispatcher.wakeSoon();
      dispatcher.wake();
      await quiet();
      const running = await store.count({ status: 'running' });
      expect(running).toBeGreaterThan(most / 8);
      expect(running).toBeLessThanOrEqual(most);
      endAll();
    },
  );

  test.each([
    { runs: 'on a server', isAhead: true, most: 1024 },
    { runs: 'on a thread', isAhead: true, most: 512 },
    { runs: 'here', isAhead: false, most: 512 },
  ] as const)(
    'are asked for while others wait: $isAhead, of a store that runs $runs, in a backlog',
    async ({ runs, isAhead: isAsked, most }) => {
      const { store, record, start, pass } = stage();
      await recordMany(record, 20 * EVENTS);
      const asked: ClaimRequest[] = [];
      const { handlers } = quickAndThenHeld(Number.POSITIVE_INFINITY);
      const claim = store.claim.bind(store);
      store.claim = (request) => {
        asked.push(request);
        return claim(request);
      };
      await start(handlers, { concurrency: HANDLERS, runs });
      await pass(100);
      expect(await store.count({ status: 'handled' })).toBe(20 * EVENTS);
      expect(asked.some(({ isAhead }) => isAhead)).toBe(isAsked);
      // All that it has, and what it asks for beyond, is bounded.
      for (const { has, limit } of asked) expect((has?.length ?? 0) + limit).toBeLessThanOrEqual(2 * most);
      // What ended while such a claim was under way is asked for by one that waits for its result.
      expect(asked.at(-1)?.isAhead).toBe(false);
    },
  );

  test('go on with the rest of a resource, when its events end beside a claim that was made ahead', async () => {
    const { store, record, start, pass } = stage();
    for (let number = 0; number < 10 * EVENTS; number++)
      await record({ media_id: `media-${number % 7}`, at: EVENT_TIME + number * 1000 });
    const { handlers } = quickAndThenHeld(Number.POSITIVE_INFINITY);
    await start(handlers, { concurrency: HANDLERS, runs: 'on a server' });
    await pass(100);
    expect(await store.count({ status: 'handled' })).toBe(10 * EVENTS);
  });

  test('are half as many as have come, where acks press, and else four a handler', () => {
    const reachAfter = (came: number, ended: number, ms = 1) => {
      const options = { concurrency: 16, leaseMs: LEASE_MS, storeRuns: 'on a thread' } as const;
      const ahead = new ClaimsAhead(new VirtualClock(), options);
      for (let events = 0; events < came; events++) ahead.came();
      for (let handlers = 0; handlers < ended; handlers++) ahead.ended(ms);
      return ahead.reach;
    };
    // 16 handlers of 45 ms do 177 in half a second.
    expect([reachAfter(1000, 80, 45), reachAfter(1000, 100, 45)]).toEqual([160, 177]);
    expect(reachAfter(1000, 200, 45)).toBe(200);
    expect(reachAfter(10, 8)).toBe(16);
    expect(reachAfter(8, 10)).toBe(10);
    expect(reachAfter(100, 80)).toBe(64);
    expect(reachAfter(400, 80)).toBe(160);
    expect(reachAfter(400, 200)).toBe(200);
    expect(reachAfter(4000, 2000)).toBe(1024);
  });

  test('have bodies of 16 MiB at most, about, however many handlers end at once', () => {
    const ahead = new ClaimsAhead(new VirtualClock(), {
      concurrency: 16,
      leaseMs: LEASE_MS,
      storeRuns: 'on a server',
    });
    const reach = () => {
      for (let handlers = 0; handlers < 2000; handlers++) ahead.ended(1);
      const { reach } = ahead;
      ahead.asked();
      return reach;
    };
    const claims = (body: string) => {
      for (let claims = 0; claims < 100; claims++) ahead.add({ body } as Claim, 0);
    };
    expect(reach()).toBe(1024);
    claims('x'.repeat(1000));
    expect(reach()).toBe(1024);
    claims('x'.repeat(1024 * 1024));
    expect(reach()).toBe(16);
    claims('x'.repeat(16 * 1024 * 1024));
    expect(reach()).toBe(1);
  });
});
