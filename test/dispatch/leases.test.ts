import { describe, expect, test } from '@jest/globals';
import { KitError, messageOf } from '../../src/base/errors.ts';
import type { HandlerContext } from '../../src/dispatch/handler.ts';
import { eachWithStage, LEASE_MS } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { present } from '../support/only.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());
const PATIENT = { handlerTimeoutMs: 100 * LEASE_MS };

function fails(): never {
  throw new KitError('STORE_UNAVAILABLE', 'the disk is away');
}

describe('two dispatchers on one database', () => {
  test('handle each event once, when much is ready, and share the work', async () => {
    const { store, record, start, pass } = stage();
    for (let number = 0; number < 80; number++) {
      await record({ media_id: `media-${number % 20}`, at: EVENT_TIME + number * 1000 });
    }
    const seen: string[][] = [[], []];
    for (const mine of seen) {
      const media_available = async (_event: unknown, { id }: { readonly id: string }) => void mine.push(id);
      await start({ media_available }, { concurrency: 2 });
    }
    await pass(1000);
    expect(await store.count({ status: 'handled' })).toBe(80);
    expect(seen.flat()).toHaveLength(80);
    expect(new Set(seen.flat()).size).toBe(80);
  });

  test('never run two of one media at once, when its events are many, and run them oldest first', async () => {
    const { record, start, pass } = stage();
    for (const seconds of [3, 1, 4, 0, 2]) await record({ at: EVENT_TIME + seconds * 1000 });
    const held = new HeldHandler();
    const order: number[] = [];
    const media_available: typeof held.handle = (event, ctx) => held.handle(event, ctx);
    const handlers = {
      media_available(event: { readonly event_time: string }, ctx: Parameters<typeof media_available>[1]) {
        order.push((Date.parse(event.event_time) - EVENT_TIME) / 1000);
        return media_available(event, ctx);
      },
    };
    await start(handlers);
    await start(handlers);
    for (let round = 0; round < 5; round++) {
      await pass(1000);
      expect(held.running).toHaveLength(1);
      held.last.end();
    }
    expect(order).toEqual([0, 1, 2, 3, 4]);
    expect(held.atOnce).toBe(1);
  });

  test('notice within a second, when another process recorded or replayed an event', async () => {
    const { store, record, start, pass, event } = stage();
    await start({ media_available() {} });
    const id = await record();
    await pass(1000);
    expect(await event(id)).toMatchObject({ status: 'handled' });
    await store.replay({});
    await pass(1000);
    expect(await event(id)).toMatchObject({ status: 'handled', replays: 1 });
  });
});

describe('the concurrency of a dispatcher', () => {
  test('is never exceeded, when more is ready, and always used', async () => {
    const { store, record, start, quiet } = stage();
    for (let number = 0; number < 10; number++) await record({ media_id: `media-${number}` });
    const held = new HeldHandler();
    await start({ media_available: held.handle }, { concurrency: 3 });
    for (let left = 10; left > 0; left--) {
      expect(held.running).toHaveLength(Math.min(3, left));
      present(held.running[0]).end();
      await quiet();
    }
    expect(held.atOnce).toBe(3);
    expect(await store.count({ status: 'handled' })).toBe(10);
  });

  test('leaves events to others, when it is full', async () => {
    const { record, start } = stage();
    for (let number = 0; number < 4; number++) await record({ media_id: `media-${number}` });
    const [first, second] = [new HeldHandler(), new HeldHandler()];
    await start({ media_available: first.handle }, { concurrency: 1 });
    await start({ media_available: second.handle }, { concurrency: 2 });
    expect([first.running.length, second.running.length]).toEqual([1, 2]);
  });
});

describe('a lease', () => {
  test('is renewed, when a handler runs for many times its length, and no other process takes the event over', async () => {
    const { record, start, pass, quiet, event } = stage();
    const id = await record();
    const [first, second] = [new HeldHandler(), new HeldHandler()];
    await start({ media_available: first.handle }, PATIENT);
    await start({ media_available: second.handle }, PATIENT);
    await pass(5 * LEASE_MS);
    expect(second.runs).toHaveLength(0);
    first.last.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
  });

  test('passes to another process, when its holder is gone, and the event is handled there', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    await store.claim({ owner: 'a process that crashed', limit: 1, leaseMs: LEASE_MS, maxAttempts: 5 });
    await start({ media_available() {} });
    await pass(LEASE_MS - 1);
    expect(await event(id)).toMatchObject({ status: 'running', attempts: 1 });
    await pass(1);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
    expect((await store.attempts(id)).map(({ outcome }) => outcome)).toEqual(['lost', 'handled']);
  });

  test('that was lost aborts the signal, when its holder learns of it, and its result is not stored', async () => {
    const { store, logged, record, start, pass, quiet, event } = stage();
    const id = await record();
    const [first, second] = [new HeldHandler(), new HeldHandler()];
    // One at a time, so that the first has no room to claim, and only the second takes over.
    const { intercept } = await start({ media_available: first.handle }, { ...PATIENT, concurrency: 1 });
    intercept('renew', fails);
    await start({ media_available: second.handle }, PATIENT);
    await pass(LEASE_MS);
    expect(second.running).toHaveLength(1);
    expect(first.last.ctx.signal.aborted).toBe(false);
    intercept('renew', () => {});
    await pass(LEASE_MS / 3);
    expect(first.last.ctx.signal.aborted).toBe(true);
    first.last.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'running', attempts: 2 });
    const message = 'the lease was lost while the handler ran; another process has the event';
    expect(logged(message)).toMatchObject([{ event: id }]);
    second.last.fail(new Error('the second one has the word'));
    await quiet();
    expect((await store.attempts(id)).map(({ outcome }) => outcome)).toEqual(['lost', 'error']);
  });

  test('aborts the signal before it runs out, when its holder cannot reach a store on a server and others can', async () => {
    const { record, start, pass, quiet, event } = stage();
    const id = await record();
    const first = new HeldHandler();
    const signals: AbortSignal[] = [];
    const { intercept } = await start(
      {
        media_available(notification, ctx) {
          ctx.signal.addEventListener('abort', () => first.last.fail(ctx.signal.reason));
          signals.push(ctx.signal);
          return first.handle(notification, ctx);
        },
      },
      { ...PATIENT, concurrency: 1, runs: 'on a server' },
    );
    const second = new HeldHandler();
    await start({ media_available: second.handle }, { ...PATIENT, runs: 'on a server' });
    await pass(LEASE_MS); // renewed meanwhile
    for (const method of ['renew', 'settle', 'claim'] as const) intercept(method, fails);
    let overlap = 0;
    for (let ms = 0; ms < 2 * LEASE_MS; ms += 100) {
      await pass(100);
      if (first.running.length > 0 && second.running.length > 0) overlap++;
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(overlap).toBe(0);
    expect(second.running).toHaveLength(1);
    second.last.end();
    for (const method of ['renew', 'settle', 'claim'] as const) intercept(method, () => {});
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
  });

  test.each(['step', 'saveStep'] as const)(
    'ends a handler that waits in ctx.once before it runs out, when the store of its holder answers no %s and others have theirs',
    async (method) => {
      const { store, record, start, pass, event } = stage();
      let running = 0;
      let overlaps = 0;
      const errors: string[] = [];
      const handlers = {
        async media_available(_event: unknown, ctx: HandlerContext) {
          if (running++ > 0) overlaps++;
          try {
            await ctx.once('announce', () => ctx.attempt);
          } catch (error) {
            errors.push(messageOf(error));
            throw error;
          } finally {
            running--;
          }
        },
      };
      const { intercept } = await start(handlers, { ...PATIENT, concurrency: 1, runs: 'on a server' });
      intercept(method, fails);
      const id = await record();
      await pass(1000);
      expect(running).toBe(1);
      for (const name of ['renew', 'settle', 'claim'] as const) intercept(name, fails);
      await pass(LEASE_MS - 1000);
      expect(running).toBe(0);
      expect(errors).toEqual([expect.stringMatching(/"announce".*has ended.*the lease was not renewed/)]);
      await start(handlers, { ...PATIENT, runs: 'on a server' });
      await pass(2 * LEASE_MS);
      expect(await event(id)).toMatchObject({ status: 'handled', attempts: 2 });
      expect(overlaps).toBe(0);
      for (const name of [method, 'renew', 'settle', 'claim'] as const) intercept(name, () => {});
      await pass(2000);
      expect(await store.step(id, 'announce')).toEqual({ result: '2' });
    },
  );

  test('is not given to its own holder again, when it ran out while the handler runs, so that none runs twice at once', async () => {
    const { record, start, pass, quiet, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle }, PATIENT);
    intercept('renew', fails);
    await pass(2 * LEASE_MS);
    expect(held.atOnce).toBe(1);
    intercept('renew', () => {});
    for (const run of held.running) run.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'handled' });
  });
});
