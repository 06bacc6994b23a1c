import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { away, eachWithStage, LEASE_MS, TIMEOUT_MS } from './stage.ts';

const stage = eachWithStage();
const PATIENT = { HANDLER_TIMEOUT_MS: String(100 * LEASE_MS) };

describe('a lease', () => {
  test('is renewed as long as the handler runs, so that no other process begins its event', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const [held, other] = [new HeldHandler(), new HeldHandler()];
    await start({ media_available: held.handle }, PATIENT);
    await start({ media_available: other.handle }, PATIENT);
    await pass(10 * LEASE_MS);
    expect([held.runs.length, other.runs.length]).toEqual([1, 0]);
    expect(held.last.ctx.signal.aborted).toBe(false);
    held.last.end();
    await pass(1000);
    expect(await event(id)).toMatchObject({ status: 'handled', starts: 1 });
  });

  test('that cannot be renewed has its handler aborted before it runs out, and before another process begins', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { intercept } = await start({ media_available: held.handle }, PATIENT);
    const other = new HeldHandler();
    await start({ media_available: other.handle }, PATIENT);
    for (const method of ['renew', 'claim'] as const) intercept(method, away);
    await pass(LEASE_MS - 3000);
    expect(held.last.ctx.signal.aborted).toBe(false);
    await pass(2000);
    expect(held.last.ctx.signal.aborted).toBe(true);
    expect(held.last.ctx.signal.reason.message).toBe('the lease was not renewed in time');
    expect(other.runs).toHaveLength(0);
    await pass(LEASE_MS);
    expect(other.runs).toHaveLength(1);
    held.last.end();
    other.last.end();
    await pass(1000);
    expect(await event(id)).toMatchObject({ status: 'handled', starts: 2, attempts: 2 });
  });

  test('of a process that was killed runs out, and the event runs again with an attempt used up', async () => {
    const { record, start, pass, event, outcomes } = stage();
    const id = await record();
    const { kill } = await start({ media_available: new HeldHandler().handle });
    kill();
    await start({ media_available() {} });
    await pass(LEASE_MS - 1000);
    expect(await event(id)).toMatchObject({ status: 'running' });
    await pass(3000);
    expect(await event(id)).toMatchObject({ status: 'handled', starts: 2, attempts: 2 });
    expect(await outcomes(id)).toEqual(['lost', 'handled']);
  });
});

describe('leases that have run out are left to those that may still renew them', () => {
  /** A process that holds a lease, and cannot renew it; another one that could recover it, as soon as it has run out. */
  async function withOneRunOut() {
    const { record, start, pass, event } = stage();
    const id = await record();
    const { kill } = await start({ media_available: new HeldHandler().handle });
    kill();
    const other = await start({ media_available() {} });
    await pass(LEASE_MS - 1000);
    expect(await event(id)).toMatchObject({ status: 'running' });
    return { id, other };
  }

  type Another = Awaited<ReturnType<typeof withOneRunOut>>['other'];
  test.each<[string, (other: Another) => Promise<void>]>([
    [
      'an error of the store',
      async ({ intercept }) => {
        intercept('work', away);
        await stage().pass(2000);
        intercept('work', () => {});
      },
    ],
    [
      'a stall, as by SIGSTOP',
      async () => {
        const { clock, quiet } = stage();
        clock.leap(clock.now() + LEASE_MS); // every timer comes late
        await quiet();
      },
    ],
    [
      'the start',
      async ({ kill }) => {
        const { clock, start } = stage();
        kill();
        clock.leap(clock.now() + LEASE_MS);
        await start({ media_available() {} });
      },
    ],
  ])('for a renewal interval after %s', async (_, happen) => {
    const { id, other } = await withOneRunOut();
    const { pass, event } = stage();
    await happen(other);
    await pass(LEASE_MS / 3 - 2000);
    expect(await event(id)).toMatchObject({ status: 'running' });
    await pass(6000);
    expect(await event(id)).toMatchObject({ status: 'handled' });
  });

  test('and its own are never recovered by a process that stalled: it aborts the handler, and the event runs once it has ended', async () => {
    const { clock, record, start, quiet, pass, event, outcomes } = stage();
    const id = await record();
    const held = new HeldHandler();
    await start({ media_available: held.handle }, PATIENT);
    clock.leap(clock.now() + 2 * LEASE_MS);
    await quiet();
    expect(held.last.ctx.signal.aborted).toBe(true);
    await pass(LEASE_MS);
    expect(held.runs).toHaveLength(1);
    held.last.fail(new Error('stopped'));
    await pass(3000);
    expect(held.runs).toHaveLength(2);
    expect(await outcomes(id)).toEqual(['error']);
    expect(await event(id)).toMatchObject({ status: 'running' });
  });
});

describe('a handler that takes too long', () => {
  test('has its signal aborted when its time is over, not a millisecond before, and is tried again after a pause', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const runs: AbortSignal[] = [];
    await start(
      defineHandlers({
        media_available: (_event, { signal }) => {
          runs.push(signal);
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
        },
      }),
    );
    await pass(TIMEOUT_MS - 1);
    expect(runs[0]?.aborted).toBe(false);
    await pass(1);
    expect(runs[0]?.reason).toMatchObject({ name: 'TimeoutError' });
    expect(await store.queue.attempts({ id })).toMatchObject([
      { outcome: 'timeout', durationMs: TIMEOUT_MS, error: `the handler took longer than ${TIMEOUT_MS} ms` },
    ]);
    await pass(2000);
    expect(runs).toHaveLength(2);
    await pass(10 * TIMEOUT_MS);
    expect(await event(id)).toMatchObject({ status: 'dead', attempts: 5 });
  });

  test('keeps its media until it has ended, when it ignores its signal, which is told of; then it has timed out, whatever it returns', async () => {
    const { record, start, pass, event, outcomes, logged } = stage();
    const id = await record();
    const held = new HeldHandler();
    await start({ media_available: held.handle, media_updated() {} });
    await start({ media_available() {}, media_updated() {} });
    const next = await record({ event: 'media_updated' });
    await pass(10 * LEASE_MS);
    expect(held.runs).toHaveLength(1);
    expect(await event(next)).toMatchObject({ status: 'pending', starts: 0 });
    const deaf =
      'the handler still runs after its time, and the other events of its media or channel wait for it';
    expect(logged(deaf)).toMatchObject([{ event: id, steps: [] }]);
    held.last.end();
    await pass(400);
    expect(await outcomes(id)).toEqual(['timeout']);
    expect(await event(next)).toMatchObject({ status: 'handled' });
  });
});

const IGNORES =
  'the handler ignores ctx.signal and still runs; its event runs again once its lease has run out';

/** A handler that goes on until its signal is aborted. */
const heeding = defineHandlers({
  media_available: (_event, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
});

describe('a stop', () => {
  test('lets a handler end within its grace, and claims nothing more', async () => {
    const { clock, record, start, stop, event } = stage();
    const first = await record();
    const { dispatcher } = await start({
      media_available: (_event, { signal }) =>
        new Promise((resolve, reject) => {
          clock.after(3000, () => resolve());
          signal.addEventListener('abort', reject);
        }),
    });
    const second = await record({ media_id: 'other' });
    dispatcher.came();
    await stop(dispatcher, 4000);
    expect(await event(first)).toMatchObject({ status: 'handled' });
    expect(await event(second)).toMatchObject({ status: 'pending', starts: 0 });
  });

  test('aborts what runs longer, and releases it at once: the next process runs it, and no attempt is used up', async () => {
    const { clock, record, start, stop, event, outcomes } = stage();
    const id = await record();
    for (let round = 1; round <= 6; round++) {
      const { dispatcher } = await start(heeding);
      const began = clock.now();
      const ended = dispatcher.stop(1000).then(() => clock.now() - began);
      await stop(dispatcher, 1000);
      expect(await ended).toBeLessThanOrEqual(1000);
      expect(await event(id)).toMatchObject({
        status: 'pending',
        nextAttemptAt: undefined,
        starts: round,
        attempts: 0,
      });
    }
    expect(await outcomes(id)).toEqual(Array(6).fill('interrupted'));
    await start({ media_available() {} });
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1, starts: 7 });
  });

  test('releases only what has ended: an event whose handler ignores the abort is no one else’s until its lease has run out', async () => {
    const { record, start, stop, pass, event, outcomes, logged } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    await stop(dispatcher);
    expect(logged(IGNORES)).toMatchObject([{ event: id }]);
    await start({ media_available() {} });
    await pass(LEASE_MS - 10_000);
    expect(await event(id)).toMatchObject({ status: 'running' });
    await pass(LEASE_MS);
    expect(await outcomes(id)).toEqual(['lost', 'handled']);
  });
});

describe('a result that the store does not take', () => {
  test('is kept and stored once the store is there again, with its lease renewed meanwhile', async () => {
    const { record, start, pass, event, outcomes } = stage();
    const { intercept } = await start({ media_available() {} });
    intercept('settle', away);
    const id = await record();
    await pass(4 * LEASE_MS);
    await start({ media_available() {} });
    await pass(LEASE_MS);
    expect(await event(id)).toMatchObject({ status: 'running' });
    intercept('settle', () => {});
    await pass(2000);
    expect(await outcomes(id)).toEqual(['handled']);
  });
});
