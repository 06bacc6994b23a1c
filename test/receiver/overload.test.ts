import { describe, expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification } from '../support/genuine.ts';
import { receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const numbered = (number: number) => notification({ media_id: `media${number}` });

/** A store whose commits wait until they are released. */
function heldStore() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const state = { waiting: 0, release };
  const wrap = (store: EventStore) =>
    storeWith(store, {
      async record(...given) {
        state.waiting++;
        await released;
        return store.record(...given);
      },
    });
  return { state, wrap };
}

describe('a store that is slow', () => {
  test('has each request wait, and acknowledges it once its commit is on disk', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap });
    let answered = 0;
    const waiting = [1, 2, 3].map(async (number) => {
      const { status } = await deliver(app, numbered(number));
      answered++;
      return status;
    });
    await eventually('three wait for their commit', () => state.waiting === 3);
    expect([answered, await events()]).toEqual([0, []]);
    state.release();
    expect(await Promise.all(waiting)).toEqual([200, 200, 200]);
    expect(await events()).toHaveLength(3);
  });

  test('makes the answer 503 with Retry-After, when as many wait as may, and 200 once they are through', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap, env: { MAX_WAITING_ACKS: '2' } });
    const waiting = Promise.allSettled([1, 2].map((number) => deliver(app, numbered(number))));
    await eventually('two wait for their commit', () => state.waiting === 2);
    const { status, body, headers } = await deliver(app, numbered(3), 'whatever');
    expect([status, body, headers['retry-after']]).toEqual([503, { error: 'overloaded' }, '5']);
    state.release();
    expect(await waiting).toMatchObject([{ value: { status: 200 } }, { value: { status: 200 } }]);
    expect((await deliver(app, numbered(3))).status).toBe(200);
    expect(await events()).toHaveLength(3);
  });
});
