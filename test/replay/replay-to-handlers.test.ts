import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { checkEnds, replayToHandlers } from '../../src/replay/replay-to-handlers.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { openAsOther } from '../support/engine.ts';
import { storeWith } from '../support/receiver-fixture.ts';
import { verified } from '../support/verified-notification.ts';

const fileOf = directoryForEachTest();
let store: EventStore;
beforeEach(async () => {
  store = await openAsOther(`sqlite:${fileOf('receiver.db')}`);
});
afterEach(() => store.close());

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
