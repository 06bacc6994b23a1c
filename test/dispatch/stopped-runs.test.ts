import { describe, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { defineHandlers, type Handlers } from '../../src/dispatch/handler.ts';
import { eachWithStage, LEASE_MS } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());
/** Longer than a stop without grace takes. */
const STOPPED_MS = 5000;

/** A handler that goes on until its signal is aborted, and writes down the number of each start. */
function heeding(): { readonly handlers: Handlers; readonly starts: number[] } {
  const starts: number[] = [];
  const handlers = defineHandlers({
    media_available: (_event, { attempt, signal }) => {
      starts.push(attempt);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  return { handlers, starts };
}

function away(): never {
  throw new KitError('STORE_UNAVAILABLE', 'the disk is full');
}

describe('an event whose handler ignores a stop', () => {
  test('keeps its lease, when the stop is over, and no other process runs it beside the first', async () => {
    const { record, start, pass, event, logged } = stage();
    const id = await record();
    const [first, second] = [new HeldHandler(), new HeldHandler()];
    const { dispatcher } = await start({ media_available: first.handle });
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    expect(await stopped).toBe(1);
    await start({ media_available: second.handle });
    await pass(1000);
    expect([first.running.length, second.runs.length]).toEqual([1, 0]);
    expect(await event(id)).toMatchObject({ status: 'running', attempts: 1 });
    const message =
      'the handler ignores ctx.signal and still runs; its event runs again once its lease has run out';
    expect(logged(message)).toMatchObject([{ event: id, kind: 'media_available', attempt: 1 }]);
  });

  test('runs again, when its lease has run out, with the attempt used up', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const patient = { handlerTimeoutMs: 10 * LEASE_MS };
    const { dispatcher } = await start({ media_available: new HeldHandler().handle }, patient);
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    await stopped;
    await start({ media_available() {} });
    await pass(LEASE_MS);
    expect(await event(id)).toMatchObject({ status: 'handled', starts: 2, attempts: 2 });
    expect((await store.attempts(id)).map(({ outcome }) => outcome)).toEqual(['lost', 'handled']);
  });

  test('ends as its handler says, when that one ends after the stop and before its lease', async () => {
    const { record, start, pass, quiet, event } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher } = await start({ media_available: held.handle });
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    await stopped;
    held.last.end();
    await quiet();
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
  });

  test('does not keep the others, when their handlers end at the abort: each is released for itself', async () => {
    const { record, start, pass, event } = stage();
    const [held, { handlers, starts }] = [new HeldHandler(), heeding()];
    const ignores = await record({ event: 'media_updated', media_id: 'ignores' });
    const heeds = await record({ media_id: 'heeds' });
    const { dispatcher } = await start({ ...handlers, media_updated: held.handle });
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    await stopped;
    expect(starts).toEqual([1]);
    expect(await event(ignores)).toMatchObject({ status: 'running', attempts: 1 });
    expect(await event(heeds)).toMatchObject({ status: 'pending', attempts: 0 });
  });
});

describe('an event that stops interrupt', () => {
  test('counts every start, when its attempts are given back, and tells its handler', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const { handlers, starts } = heeding();
    for (let round = 0; round < 3; round++) {
      const { dispatcher } = await start(handlers);
      const stopped = dispatcher.stop(0);
      await pass(STOPPED_MS);
      expect(await stopped).toBe(0);
    }
    expect(starts).toEqual([1, 2, 3]);
    expect(await event(id)).toMatchObject({ status: 'pending', starts: 3, attempts: 0 });
    const records = (await store.attempts(id)).map(({ attempt, outcome }) => [attempt, outcome]);
    expect(records).toEqual([1, 2, 3].map((attempt) => [attempt, 'interrupted']));
  });

  test('ends as dead, when its handler makes its process stop at every start, with what to do', async () => {
    const { store, record, start, pass, event, logged } = stage();
    const id = await record();
    const { handlers, starts } = heeding();
    const retry = { maxAttempts: 2, baseMs: 0, capMs: 0, random: () => 0 };
    for (let round = 0; round < 6; round++) {
      const { dispatcher } = await start(handlers, { retry });
      const stopped = dispatcher.stop(0);
      await pass(STOPPED_MS);
      await stopped;
    }
    expect(starts).toEqual([1, 2, 3, 4]);
    const lastError = expect.stringMatching(
      /stops of its process interrupted it more than 2 times.*SHUTDOWN_GRACE_MS/,
    );
    expect(await event(id)).toMatchObject({ status: 'dead', starts: 4, attempts: 2, lastError });
    expect(await store.attempts(id)).toHaveLength(4);
    expect(logged('event given up')).toMatchObject([{ event: id, attempt: 4, reason: lastError }]);
  });

  test('has all attempts for its failures, when stops interrupted it before', async () => {
    const { store, record, start, pass, event } = stage();
    const id = await record();
    const { dispatcher } = await start(heeding().handlers);
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    await stopped;
    const retry = { maxAttempts: 2, baseMs: 0, capMs: 0, random: () => 0 };
    await start({ media_available: () => Promise.reject(new Error('down')) }, { retry });
    await pass(1000);
    expect(await event(id)).toMatchObject({ status: 'dead', starts: 3, attempts: 2 });
    const outcomes = (await store.attempts(id)).map(({ outcome }) => outcome);
    expect(outcomes).toEqual(['interrupted', 'error', 'error']);
  });
});

describe('the log of a stop', () => {
  const TRYING = 'cannot store a result; trying again';
  const LOST = 'cannot store a result before the stop; the event runs again once its lease has run out';

  test('names the event and how it ended, when its result cannot be stored, and says that it runs again', async () => {
    const { record, start, pass, quiet, event, logged } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle });
    intercept('settle', away);
    const stopped = dispatcher.stop(1000);
    held.last.end();
    await quiet();
    await pass(STOPPED_MS);
    expect(await stopped).toBe(0);
    const line = { event: id, kind: 'media_available', attempt: 1, error: 'the disk is full' };
    expect(logged(LOST)).toMatchObject([{ ...line, outcome: 'handled', status: 'handled' }]);
    expect(await event(id)).toMatchObject({ status: 'running' });
  });

  test('names the event, when it cannot be released, and the stop ends all the same', async () => {
    const { record, start, pass, logged } = stage();
    const id = await record();
    const { dispatcher, intercept } = await start(heeding().handlers);
    intercept('settle', away);
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    expect(await stopped).toBe(0);
    expect(logged(LOST)).toMatchObject([{ event: id, outcome: 'interrupted', error: 'the disk is full' }]);
  });

  test('says that the store is tried again only where it is, and each line names its event', async () => {
    const { record, start, pass, quiet, event, logged } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle });
    let calls = 0;
    intercept('settle', () => {
      if (++calls < 3) away();
    });
    const stopped = dispatcher.stop(10_000);
    held.last.end();
    await quiet();
    await pass(10_000);
    await stopped;
    expect(calls).toBe(3);
    expect(logged(TRYING)).toMatchObject([{ event: id }, { event: id }]);
    expect(logged(LOST)).toEqual([]);
    expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1 });
  });

  test('tells a result that comes after the store was closed, when a handler ignored the stop, and nothing is thrown', async () => {
    const { record, start, pass, quiet, logged } = stage();
    const id = await record();
    const held = new HeldHandler();
    const { dispatcher, intercept } = await start({ media_available: held.handle });
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    await stopped;
    intercept('settle', () => {
      throw new Error('the store is closed');
    });
    held.last.end();
    await quiet();
    expect(logged(LOST)).toMatchObject([{ event: id, error: 'the store is closed' }]);
  });

  test('names each event that the stop interrupted', async () => {
    const { record, start, pass, logged } = stage();
    const ids = [await record({ media_id: 'a' }), await record({ media_id: 'b', at: EVENT_TIME + 1 })];
    const { dispatcher } = await start(heeding().handlers);
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    await stopped;
    expect(logged('the stop interrupted a handler; its event runs again').map(({ event }) => event)).toEqual(
      ids,
    );
  });
});

describe('a stop', () => {
  test('waits for a run whose lease was lost, when its event runs again beside it, and for that run', async () => {
    const { record, start, pass, quiet } = stage();
    await record();
    const [first, other] = [new HeldHandler(), new HeldHandler()];
    const patient = { handlerTimeoutMs: 100 * LEASE_MS };
    const { dispatcher, intercept } = await start(
      { media_available: first.handle },
      { ...patient, concurrency: 2 },
    );
    intercept('renew', away);
    intercept('claim', away);
    const between = await start({ media_available: other.handle }, patient);
    await pass(LEASE_MS + 1000);
    expect(other.running).toHaveLength(1);
    other.last.fail(new Error('again'));
    await quiet();
    await between.dispatcher.stop(0);
    intercept('claim', () => {});
    intercept('renew', () => {});
    await pass(LEASE_MS);
    expect(first.running).toHaveLength(2);
    const stopped = dispatcher.stop(0);
    await pass(STOPPED_MS);
    expect(await stopped).toBe(2);
  });
});
