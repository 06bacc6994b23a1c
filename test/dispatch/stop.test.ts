import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { defineHandlers, retry } from '../../src/dispatch/handler.ts';
import { eachWithStage } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';

const stage = eachWithStage(sqliteFixture());
const GRACE_MS = 10_000;
/** Longer than handlers may take once their signals are aborted at a stop. */
const ABORTED_MS = 5000;

/** Whether a promise has been settled by now. */
function settling(promise: Promise<unknown>): () => boolean {
  let settled = false;
  promise.finally(() => {
    settled = true;
  });
  return () => settled;
}

describe('stop', () => {
  test('resolves at once, when nothing runs, and leaves no timer', async () => {
    const { clock, start } = stage();
    const { dispatcher } = await start({});
    await dispatcher.stop(GRACE_MS);
    expect(clock.nextDue()).toBeUndefined();
  });

  test('waits for a handler, when it ends within the grace, and stores its result', async () => {
    const { record, start, pass, event, clock } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    const stopped = dispatcher.stop(GRACE_MS);
    const isStopped = settling(stopped);
    await pass(GRACE_MS - 1);
    expect([isStopped(), held.last.ctx.signal.aborted]).toEqual([false, false]);
    held.last.end();
    await stopped;
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
    expect(clock.nextDue()).toBeUndefined();
  });

  test('aborts a handler, when the grace is over, and releases its event with the attempt unused', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const reasons: unknown[] = [];
    const { dispatcher } = await start(
      defineHandlers({
        media_available: (_event, { signal }) =>
          new Promise((_, reject) =>
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              reject(signal.reason);
            }),
          ),
      }),
    );
    const stopped = dispatcher.stop(GRACE_MS);
    await pass(GRACE_MS - 1);
    expect(reasons).toEqual([]);
    await pass(1);
    await stopped;
    expect(reasons).toMatchObject([{ name: 'AbortError' }]);
    expect(await event(id)).toMatchObject({ status: 'pending', attempts: 0, lastError: undefined });
    expect(await store.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'interrupted' }]);
  });

  test('does not wait for ever, when a handler ignores the abort, and leaves its event leased', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    const isStopped = settling(dispatcher.stop(GRACE_MS));
    await pass(GRACE_MS + ABORTED_MS);
    expect(isStopped()).toBe(true);
    expect(await event(id)).toMatchObject({ status: 'running', attempts: 1 });
  });

  test('stores the result, when a handler ends well or decides after it was aborted', async () => {
    const { record, start, pass, event } = stage();
    const ids = [await record({ media_id: 'a' }), await record({ media_id: 'b', event: 'media_updated' })];
    const [ends, decides] = [new HeldHandler(), new HeldHandler()];
    const { dispatcher } = await start({ media_available: ends.handle, media_updated: decides.handle });
    const stopped = dispatcher.stop(0);
    await pass(0);
    expect([ends, decides].map(({ last }) => last.ctx.signal.aborted)).toEqual([true, true]);
    ends.last.end();
    decides.last.end(retry({ after: 60_000, reason: 'later' }));
    await stopped;
    expect(await Promise.all(ids.map(event))).toMatchObject([
      { status: 'handled' },
      { status: 'pending', attempts: 1, lastError: 'later' },
    ]);
  });

  test('claims nothing more, when it has begun, though it is woken and events come', async () => {
    const { record, start, pass, quiet, event } = stage();
    await record({ media_id: 'running' });
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    const stopped = dispatcher.stop(GRACE_MS);
    const id = await record();
    dispatcher.wake();
    await pass(1000);
    held.last.end();
    await stopped;
    dispatcher.wake();
    await quiet();
    expect(held.runs).toHaveLength(1);
    expect(await event(id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('gives claimed events back as if they had not been claimed, when the claim was under way as it began', async () => {
    const { store, record, start, pass, event } = stage();
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle });
    const [claim, isAsked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    intercept('claim', () => {
      isAsked.resolve();
      return claim.promise;
    });
    const id = await record();
    dispatcher.wake();
    await isAsked.promise;
    const stopped = dispatcher.stop(GRACE_MS);
    for (let turn = 0; turn < 3; turn++) await store.ping(); // time enough to stop too early
    claim.resolve();
    await pass(GRACE_MS + ABORTED_MS);
    await stopped;
    expect(held.runs).toHaveLength(0);
    expect(await event(id)).toMatchObject({ status: 'pending', starts: 0, attempts: 0 });
    expect(await store.attempts(id)).toEqual([]);
  });

  test('does not try for ever, when the store does not take a result any more, and leaves its event leased', async () => {
    const { clock, record, start, pass, quiet, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle });
    intercept('settle', () => {
      throw new Error('the disk is full');
    });
    held.last.end();
    await quiet();
    const stopped = dispatcher.stop(0);
    await pass(ABORTED_MS);
    await stopped;
    expect(await event(id)).toMatchObject({ status: 'running', attempts: 1 });
    expect(clock.nextDue()).toBeUndefined();
  });

  test('names each event whose result the store does not take, when that answers nothing at all, and ends', async () => {
    const { record, start, clock, logged } = stage();
    const ids = [await record({ media_id: 'one' }), await record({ media_id: 'two' })];
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle });
    const answer = Promise.withResolvers<void>();
    intercept('settle', () => answer.promise);
    for (const one of held.running) one.end();
    await setImmediate();
    const stopped = dispatcher.stop(0);
    for (let second = 0; second < 10; second++) {
      await setImmediate();
      await clock.advance(1000);
    }
    expect(await stopped).toBe(0);
    expect(dispatcher.unstored).toBe(2);
    const named = logged(
      'cannot store a result before the stop; the event runs again once its lease has run out',
    );
    expect(named.map(({ event }) => event).sort()).toEqual(ids.sort());
    expect(named.map(({ error }) => error)).toEqual(Array(2).fill('the store does not answer'));
    answer.resolve();
  });

  test('leaves no timer, when leases are being renewed as it begins', async () => {
    const { clock, record, start, quiet } = stage();
    await record();
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle }, { leaseMs: 300 });
    const renewal = Promise.withResolvers<void>();
    intercept('renew', () => renewal.promise);
    const advancing = clock.advance(100); // waits for the renewal
    const stopped = dispatcher.stop(GRACE_MS);
    held.last.end();
    await stopped;
    renewal.resolve();
    await advancing;
    await clock.advance(1000); // the store takes in what was recorded
    await quiet();
    expect(clock.nextDue()).toBeUndefined();
  });

  test('leaves its events to the next process, when that starts, in the next start of the same attempt', async () => {
    const { record, start, pass, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    const stopped = dispatcher.stop(0);
    await pass(0);
    held.last.fail(held.last.ctx.signal.reason);
    await stopped;
    const attempts: number[] = [];
    await start(defineHandlers({ media_available: (_event, { attempt }) => void attempts.push(attempt) }));
    expect(attempts).toEqual([2]);
    expect(await event(id)).toMatchObject({ status: 'handled', starts: 2, attempts: 1 });
  });
});

describe('idle', () => {
  test('resolves, when all ready events are done, and not before', async () => {
    const { record, start, quiet } = stage();
    await record();
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    const isIdle = settling(dispatcher.idle());
    await quiet();
    expect(isIdle()).toBe(false);
    held.last.end();
    await quiet();
    expect(isIdle()).toBe(true);
  });
});
