import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
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

describe('a live event behind a backlog', () => {
  test.each([1, 3, 16])('is handled in a few turns, when %i handlers run at once', async (concurrency) => {
    const { clock, record, start, pass } = stage();
    for (let number = 0; number < 200; number++) {
      await record({ media_id: `old-${number}`, at: EVENT_TIME + number * 1000 });
    }
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
  });

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
