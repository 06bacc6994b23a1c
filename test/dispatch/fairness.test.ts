import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { HANDLED, settleAll, waiting } from '../support/claiming.ts';
import { eachWithStage } from '../support/dispatch-stage.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';

const stage = eachWithStage(sqliteFixture());

const MINUTE_MS = 60_000;
const HANDLER_MS = 100;

/** A handler that takes its time, and the media that it was run for, in order. */
function slowHandlers(pause: () => Promise<void>) {
  const handled: string[] = [];
  const handlers = defineHandlers({
    async media_available({ media_id }) {
      handled.push(media_id);
      await pause();
    },
  });
  return { handled, handlers };
}

const OLD = 200;

/** Makes events that are older than the live ones, and ready all at once. */
const backlogs = {
  'events that came before': async () => {},
  'a bulk replay': async () => {
    const { store } = stage();
    expect(await settleAll(store, HANDLED)).toBe(OLD);
    expect(await store.replay({ status: 'handled' })).toBe(OLD);
  },
  'a wave of retries': async () => {
    const { store, clock } = stage();
    expect(await settleAll(store, waiting(MINUTE_MS))).toBe(OLD);
    await clock.advance(MINUTE_MS);
  },
} satisfies Record<string, () => Promise<void>>;

describe('a live event behind a backlog', () => {
  test.each([
    ['events that came before', 1],
    ['events that came before', 3],
    ['events that came before', 16],
    ['a bulk replay', 1],
    ['a bulk replay', 16],
    ['a wave of retries', 1],
    ['a wave of retries', 16],
  ] as const)(
    'of %s is handled in a few turns, when %i handlers run at once',
    async (backlog, concurrency) => {
      const { clock, record, start, pass } = stage();
      for (let number = 0; number < OLD; number++) {
        await record({ media_id: `old-${number}`, at: EVENT_TIME + number * 1000 });
      }
      await backlogs[backlog]();
      const { handled, handlers } = slowHandlers(
        () => new Promise((resolve) => clock.after(HANDLER_MS, resolve)),
      );
      const { dispatcher } = await start(handlers, { concurrency });
      await pass(HANDLER_MS);
      const before = handled.length;
      for (let number = 0; number < 3; number++) {
        await record({ media_id: `live-${number}`, at: EVENT_TIME + 10 * MINUTE_MS + number });
      }
      dispatcher.wake();
      await pass(12 * HANDLER_MS);
      const meanwhile = handled.slice(before);
      expect(meanwhile.filter((media) => media.startsWith('live')).sort()).toEqual([
        'live-0',
        'live-1',
        'live-2',
      ]);
      // Before and after them, three of four are the oldest.
      const old = meanwhile.filter((media) => media.startsWith('old'));
      expect(old.length).toBeGreaterThan(meanwhile.length / 2);
    },
  );

  test('leaves the backlog its order, when nothing new comes, but for one in four', async () => {
    const { clock, record, start, pass } = stage();
    for (let number = 0; number < 20; number++) {
      await record({ media_id: `${number}`, at: EVENT_TIME + number * 1000 });
    }
    const { handled, handlers } = slowHandlers(
      () => new Promise((resolve) => clock.after(HANDLER_MS, resolve)),
    );
    await start(handlers, { concurrency: 1 });
    await pass(30 * HANDLER_MS);
    expect(handled.map(Number)).toEqual([
      0, 1, 2, 19, 3, 4, 5, 18, 6, 7, 8, 17, 9, 10, 11, 16, 12, 13, 14, 15,
    ]);
  });
});
