import { describe, expect, test } from '@jest/globals';
import { GATHER_MS } from '../../src/dispatch/dispatcher.ts';
import { eachWithStage } from '../support/dispatch-stage.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';

describe('claims', () => {
  const stage = eachWithStage(sqliteFixture());

  /** A dispatcher with handlers that end at once, and the claims that it makes. */
  async function counted() {
    let claims = 0;
    const { dispatcher, intercept } = await stage().start({ media_available: () => undefined });
    intercept('claim', () => void claims++);
    return { dispatcher, claims: () => claims };
  }

  test('wait for more events, when handlers end with nothing left to claim', async () => {
    const { record, pass, store } = stage();
    const { dispatcher, claims } = await counted();
    for (let event = 0; event < 20; event++) {
      await record({ media_id: `media-${event}` });
      dispatcher.wakeSoon();
      await pass(5);
    }
    await pass(2 * GATHER_MS);
    expect(await store.count({ status: 'handled' })).toBe(20);
    expect(claims()).toBeGreaterThan(2);
    expect(claims()).toBeLessThanOrEqual(150 / GATHER_MS);
  });

  test('are made at once, when events of the same resource are ready', async () => {
    const { record, quiet, store } = stage();
    const { dispatcher, claims } = await counted();
    for (let number = 0; number < 20; number++) await record({ number });
    dispatcher.wake();
    await quiet();
    expect(await store.count({ status: 'handled' })).toBe(20);
    expect(claims()).toBeLessThanOrEqual(21);
  });

  test('are made at once, when many events have come while handlers ran', async () => {
    const { record, quiet, start, store } = stage();
    await record({ media_id: 'first' });
    const held = new HeldHandler();
    const handled: string[] = [];
    const { dispatcher } = await start({
      media_available: (event, ctx) =>
        event.media_id === 'first' ? held.handle(event, ctx) : void handled.push(event.media_id),
    });
    for (let event = 0; event < 4; event++) {
      await record({ media_id: `media-${event}` });
      dispatcher.wakeSoon();
    }
    held.last.end();
    await quiet();
    expect(handled).toHaveLength(4);
    expect(await store.count({ status: 'handled' })).toBe(5);
  });

  test('are made at once, when more was received than one of them takes in', async () => {
    const { record, quiet, start } = stage();
    const hot = new HeldHandler();
    const handled: string[] = [];
    const { dispatcher } = await start({
      media_available: (event, ctx) =>
        event.media_id === 'hot' ? hot.handle(event, ctx) : void handled.push(event.media_id),
    });
    await Promise.all(Array.from({ length: 2100 }, (_, number) => record({ media_id: 'hot', number })));
    await record({ media_id: 'free' });
    dispatcher.wake();
    await quiet();
    expect(handled).toEqual(['free']);
    hot.last.end();
  });

  test('find the next event of a resource, when it came while the one before ran', async () => {
    const { record, pass, quiet, start, store } = stage();
    const first = Promise.withResolvers<void>();
    let isFirst = true;
    const { dispatcher } = await start({
      async media_available() {
        if (isFirst) await record({ number: 2 }); // as by another process
        isFirst = false;
        first.resolve();
      },
    });
    await record({ number: 1 });
    dispatcher.wake();
    await first.promise;
    await quiet();
    await pass(GATHER_MS);
    expect(await store.count({ status: 'handled' })).toBe(2);
  });
});
