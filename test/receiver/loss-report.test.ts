import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { LossReport } from '../../src/receiver/loss-report.ts';
import { logLines } from '../support/log-lines.ts';

const MINUTE_MS = 60_000;

/** A report, with what it has logged and what it has the store count. */
function report() {
  const clock = new VirtualClock();
  const { log, lines } = logLines();
  const counted: number[] = [];
  const store = { isAway: false };
  const countLost = async (lost: number) => {
    if (store.isAway) throw new Error('the database is locked');
    counted.push(lost);
  };
  const losses = new LossReport({ store: { countLost }, clock, log });
  return { clock, losses, counted, store, said: () => lines.map((line): number => JSON.parse(line).lost) };
}

test('what is lost is said at once and then once a minute, when more is lost, until nothing is', async () => {
  const { clock, losses, counted, said } = report();
  for (let count = 0; count < 100; count++) losses.add(2, true);
  expect(said()).toEqual([2]);
  await clock.advance(MINUTE_MS);
  expect(said()).toEqual([2, 198]);
  await clock.advance(10 * MINUTE_MS);
  expect(said()).toEqual([2, 198]);
  losses.add(1, true);
  expect(said()).toEqual([2, 198, 1]);
  expect(counted).toEqual([]);
});

test('what is lost before it comes to the store is counted there as often, and at the stop', async () => {
  const { clock, losses, counted } = report();
  for (let count = 0; count < 100; count++) losses.add(1, false);
  expect(counted).toEqual([1]);
  await clock.advance(MINUTE_MS);
  expect(counted).toEqual([1, 99]);
  losses.add(3, false);
  losses.add(2, true);
  await losses.stop();
  expect(counted).toEqual([1, 99, 3]);
  expect(clock.nextDue()).toBeUndefined();
});

test('a store that does not answer holds no stop up', async () => {
  const clock = new VirtualClock();
  const { log } = logLines();
  const losses = new LossReport({ store: { countLost: () => new Promise(() => {}) }, clock, log });
  losses.add(1, false);
  losses.add(1, false);
  const stopped = losses.stop();
  await clock.advance(1000);
  await stopped;
  expect(clock.nextDue()).toBeUndefined();
});

test('what cannot be counted is counted later, once and whole', async () => {
  const { clock, losses, counted, store } = report();
  store.isAway = true;
  losses.add(1, false);
  losses.add(4, false);
  await clock.advance(MINUTE_MS);
  store.isAway = false;
  await clock.advance(MINUTE_MS);
  expect(counted).toEqual([5]);
  await clock.advance(10 * MINUTE_MS);
  expect(counted).toEqual([5]);
});
