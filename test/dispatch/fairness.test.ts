import { describe, expect, test } from '@jest/globals';
import { defineHandlers } from '../../src/dispatch/handler.ts';
import { HANDLED, settleAll, waiting } from '../support/claiming.ts';
import { eachWithStage } from '../support/dispatch-stage.ts';
import { sqliteFixture } from '../support/sqlite-fixture.ts';
import { EVENT_TIME, verified } from '../support/verified-notification.ts';

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

/** More than all handlers and what is claimed ahead for them, so that some are left whenever a test looks. */
const OLD = 2000;

/** Records what is older, all at one moment. */
async function recordOld(): Promise<void> {
  const { store, clock } = stage();
  const numbers = Array.from({ length: OLD }, (_, number) => number);
  const record = (number: number) =>
    store.record(verified({ media_id: `a-${number}`, at: EVENT_TIME + number * 1000 }));
  await Promise.all(numbers.map(record));
  await clock.advance(1);
}

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
      await recordOld();
      await backlogs[backlog]();
      await clock.advance(1);
      const { handled, handlers } = slowHandlers(
        () => new Promise((resolve) => clock.after(HANDLER_MS, resolve)),
      );
      const { dispatcher } = await start(handlers, { concurrency });
      await pass(HANDLER_MS);
      const before = handled.length;
      // What they say of their time does not matter: a notification may be late, or its sender's clock ahead.
      for (const [number, at] of [OLD * 1000, OLD * 500, 1].entries()) {
        await record({ media_id: `live-${number}`, at: EVENT_TIME + at });
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
      const old = meanwhile.filter((media) => media.startsWith('a-'));
      expect(old.length).toBeGreaterThan(meanwhile.length / 2);
    },
  );

  /** So many live events in 10 s, each of another media, while a backlog is worked off; 400 can be handled in that time. */
  const beside = async (backlog: keyof typeof backlogs, live: number) => {
    const { clock, record, start, pass } = stage();
    await recordOld();
    await backlogs[backlog]();
    const startedAt = new Map<string, number>();
    const { dispatcher } = await start(
      defineHandlers({
        async media_available({ media_id }) {
          startedAt.set(media_id, clock.now());
          await new Promise<void>((resolve) => clock.after(HANDLER_MS, resolve));
        },
      }),
      { concurrency: 4 },
    );
    await pass(1000);
    const began = clock.now();
    const recordedAt: number[] = [];
    for (let number = 0; number < live; number++) {
      await record({ media_id: `live-${number}` });
      recordedAt.push(clock.now());
      dispatcher.wakeSoon();
      await pass(10_000 / live);
    }
    const end = clock.now();
    await pass(2 * HANDLER_MS);
    const waits = recordedAt.map((at, number) => (startedAt.get(`live-${number}`) ?? Infinity) - at);
    const old = [...startedAt].filter(([media, at]) => media.startsWith('a-') && at >= began && at < end);
    return { waits, old: old.length };
  };

  test.each([
    ['events that came before', 200],
    ['events that came before', 280],
    ['a bulk replay', 200],
    ['a bulk replay', 280],
    ['a wave of retries', 200],
    ['a wave of retries', 280],
  ] as const)(
    'of %s waits for two handlers at most, when live events take %i of 400 places, and the backlog has the rest',
    async (backlog, live) => {
      const { waits, old } = await beside(backlog, live);
      expect(Math.max(...waits)).toBeLessThanOrEqual(2 * HANDLER_MS);
      expect(old).toBeGreaterThanOrEqual(0.9 * (400 - live));
    },
  );

  test.each(Object.keys(backlogs) as readonly (keyof typeof backlogs)[])(
    'leaves %s one claim in four, when live events would take more than all handlers',
    async (backlog) => {
      const { old } = await beside(backlog, 800);
      expect(old).toBeGreaterThanOrEqual(90);
      expect(old).toBeLessThanOrEqual(110);
    },
  );

  test('leaves the backlog its order, when nothing new comes, but for one in four', async () => {
    const { clock, record, start, pass } = stage();
    for (let number = 0; number < 20; number++) {
      await record({ media_id: `${number}`, at: EVENT_TIME - number * 1000 });
      await clock.advance(1);
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
