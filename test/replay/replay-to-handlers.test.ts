import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { parseConfig } from '../../src/config.ts';
import { Dispatcher } from '../../src/dispatch/dispatcher.ts';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { checkEnds, replayToHandlers } from '../../src/replay/replay-to-handlers.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { logLines } from '../support/log-lines.ts';
import { storeWith } from '../support/receiver-fixture.ts';
import { verified } from '../support/verified-notification.ts';

const fileOf = directoryForEachTest();
let store: EventStore;
beforeEach(async () => {
  store = await openAsOther(`sqlite:${fileOf('receiver.db')}`);
});
afterEach(() => store.close());

/** A dispatcher of these handlers, not started yet. */
function dispatcherOf(handlers: Handlers): Dispatcher {
  return new Dispatcher({
    config: parseConfig({ HANDLER_TIMEOUT_MS: '1000', RETRY_MAX_ATTEMPTS: '1' }),
    app: { handlers },
    store,
    clock: systemClock,
    log: logLines().log,
    random: () => 0,
  });
}

test('counts each end once, when events are handled a second time', async () => {
  const { id } = await store.queue.record(verified({ media_id: 'm1', at: Date.UTC(2026, 1, 2) }));
  await store.queue.record(verified({ media_id: 'm2', at: Date.UTC(2026, 1, 1) }));
  let runs = 0;
  const dispatcher = () =>
    dispatcherOf({
      media_available({ media_id }) {
        runs++;
        if (media_id === 'm1') throw new Error('no');
      },
    });
  const first = await replayToHandlers(store, { filter: {}, dispatcher: dispatcher() });
  expect(first).toMatchObject({ replayed: 0, underWay: 2, isCut: false });
  const second = await replayToHandlers(store, { filter: {}, dispatcher: dispatcher() });
  expect(second).toMatchObject({ replayed: 2, underWay: 0, isCut: false });
  expect(second.ends).toEqual(
    new Map([
      ['dead', 1],
      ['handled', 1],
    ]),
  );
  expect(runs).toBe(4);
  expect((await store.queue.event({ id }))?.replays).toBe(1);
});

test('counts an event that is pending at first, when a server handles it after the reset', async () => {
  await store.queue.record(verified());
  // Another process is faster than the replay.
  const beside: typeof store.queue.replay = async (filter, options) => {
    const replayed = await store.queue.replay(filter, options);
    await settleAll(store, HANDLED);
    return replayed;
  };
  const raced = storeWith(store, { queue: { replay: beside } });
  const { ends, ...reset } = await replayToHandlers(raced, { filter: {}, isAwaited: true });
  expect(reset).toEqual({ replayed: 0, underWay: 1, isCut: false });
  expect(ends).toEqual(new Map([['handled', 1]]));
});

test('counts what ends while the dispatcher stops, when the time is over', async () => {
  await store.queue.record(verified());
  const dispatcher = dispatcherOf({
    media_available: () => new Promise<void>((resolve) => setTimeout(resolve, 300)),
  });
  const { ends } = await replayToHandlers(store, { filter: {}, dispatcher, timeoutMs: 100 });
  expect(ends).toEqual(new Map([['handled', 1]]));
});

test.each([
  [{ handled: 2 }, {}, undefined],
  [{ handled: 1, dead: 1 }, {}, '1 event ended as dead (--fail-on none allows it)'],
  [{ handled: 1, dead: 1 }, { failOn: 'none' }, undefined],
  [{ dead: 2 }, { expect: 'dead' }, undefined],
  [{ handled: 1, skipped: 2 }, { expect: 'handled' }, '2 events did not end as handled'],
  [{ pending: 1, running: 1 }, { failOn: 'none' }, '2 events had not ended when the time was over'],
] as const)('judges ends of %j, when %j is expected, with %j', (counts, expectation, problem) => {
  const ends = new Map(Object.entries(counts)) as Parameters<typeof checkEnds>[0];
  const check = () => checkEnds(ends, expectation);
  if (problem === undefined) expect(check).not.toThrow();
  else expect(check).toThrow(expect.objectContaining({ code: 'REPLAY_FAILED', message: problem }));
});
