import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { away, eachWithStage, LEASE_MS } from './stage.ts';

const stage = eachWithStage();
const STORED_LATE = 'cannot store a result before the stop; the event runs again once its lease has run out';
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
    dispatcher.came('media:other');
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

  test('gives back what a claim that was under way got, and starts none of it', async () => {
    const { record, start, pass, event } = stage();
    const held = new HeldHandler();
    const { dispatcher, hold } = await start({ media_available: held.handle });
    const release = hold('claim');
    const id = await record();
    await pass(1000);
    const stopped = dispatcher.stop(5000);
    release();
    await pass(100);
    await stopped;
    expect(held.runs).toHaveLength(0);
    expect(await event(id)).toMatchObject({ status: 'pending', attempts: 0 });
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

  test('is recognised, when the store took it and its answer was lost', async () => {
    const { record, start, pass, outcomes, logged } = stage();
    const { loseAnswer } = await start({ media_available() {} });
    loseAnswer('settle');
    const id = await record();
    await pass(5000);
    expect(await outcomes(id)).toEqual(['handled']);
    expect(logged('the lease was lost while the handler ran; another process has the event')).toEqual([]);
  });

  test('is counted and told of with its event, when the stop is over', async () => {
    const { record, start, pass, stop, logged } = stage();
    const { dispatcher, intercept } = await start({ media_available() {} });
    intercept('settle', away);
    const ids = [await record({ media_id: 'a' }), await record({ media_id: 'b' })];
    await pass(1000);
    await expect(stop(dispatcher)).rejects.toThrow(/results that could not be stored .*: 2$/);
    expect(
      logged(STORED_LATE)
        .map(({ event }) => event)
        .toSorted(),
    ).toEqual(ids.toSorted());
  });
});
