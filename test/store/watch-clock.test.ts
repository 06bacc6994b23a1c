import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { pruningLimit } from '../../src/store/pruning-limit.ts';
import { keepFor } from '../../src/store/retention.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { watchClock } from '../../src/store/watch-clock.ts';
import { HANDLED, settleAll } from '../support/claiming.ts';
import { logLines } from '../support/log-lines.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const RIGHT = Date.UTC(2026, 10, 26);

/** The clock of a machine that somebody can set: its running time goes on as it was. */
class MachineClock extends VirtualClock {
  #by = 0;
  readonly #start = super.now();

  override now(): number {
    return super.now() + this.#by;
  }

  sinceBoot() {
    return { machine: 'this', ms: super.now() - this.#start };
  }

  set(by: number): void {
    this.#by += by;
  }
}

let clock: MachineClock;
let store: SqliteStore;
const stops: (() => unknown)[] = [];
beforeEach(async () => {
  clock = new MachineClock(RIGHT);
  const directory = await temporaryDirectory();
  const path = `${directory}/receiver.db`;
  store = await SqliteStore.open({ path, clock, timeOfCommit: () => clock.now(), threads: false });
});
afterEach(async () => {
  for (const stop of stops.splice(0)) stop();
  await store.close();
});

const handled = async (media_id: string) => {
  const { id } = await store.record(verified({ media_id }));
  await settleAll(store, HANDLED);
  return async () => (await store.event(id))?.body !== undefined;
};
const RETENTION = 30;

test.each([
  ['behind, and is set right', -40 * DAY_MS, 40 * DAY_MS],
  ['right, and is set ahead', 0, 40 * DAY_MS],
  ['ahead, and is set further ahead', 40 * DAY_MS, 40 * DAY_MS],
])(
  'what was handled within the hour before is kept, when the clock is %s, also when events came since',
  async (_, before, by) => {
    clock.set(before);
    const { log, withMessage: logged } = logLines();
    stops.push(watchClock({ store, clock, log }));
    stops.push(keepFor({ store, clock, log, days: RETENTION }));
    await clock.advance(1000);
    const isKept = await handled('one');
    clock.set(by);
    const isKeptToo = await handled('two');
    await clock.advance(50 * 60_000);
    expect(await isKept()).toBe(true);
    await expect(pruningLimit(store, clock, RETENTION * DAY_MS)).rejects.toMatchObject({
      code: 'CLOCKS_DIFFER',
    });
    const told = logged('the clock of the database was set; nothing is pruned for an hour');
    expect(told).toMatchObject([{ by_ms: by }]);

    await clock.advance(2 * HOUR_MS);
    expect(await isKept()).toBe(false);
    expect(await isKeptToo()).toBe(true);
    expect(logged('cannot prune; trying again in an hour')).toHaveLength(1);
  },
);

test('nothing is logged, and pruning goes on, when the clock is the same or nearly so', async () => {
  const { log, lines } = logLines();
  stops.push(watchClock({ store, clock, log }));
  for (const by of [500, 30_000, -30_000, -500]) {
    clock.set(by);
    await clock.advance(HOUR_MS);
  }
  expect(await pruningLimit(store, clock, HOUR_MS)).toBeLessThan(clock.now());
  expect(lines).toEqual([]);
});

test('a store that fails is asked again', async () => {
  const { log, withMessage: logged } = logLines();
  let isAway = true;
  const away = {
    clock: async () => {
      if (isAway) throw new Error('away');
      return store.clock();
    },
    readClock: store.readClock.bind(store),
  };
  stops.push(watchClock({ store: away, clock, log }));
  await clock.advance(1000);
  isAway = false;
  await clock.advance(600_000);
  clock.set(-DAY_MS);
  await clock.advance(600_000);
  expect(logged('the clock of the database was set; nothing is pruned for an hour')).toHaveLength(1);
});
