import { expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Probe } from '../../src/store/commit-probe.ts';

test('a flood of questions whether the store commits, however long it lasts, costs at most twenty commits a second', async () => {
  const clock = new VirtualClock();
  const probe = new Probe(clock);
  let commits = 0;
  const store = { ping: async () => void commits++ };
  const answers: boolean[] = [];
  let isOver = false;
  const ask = async () => {
    while (!isOver) answers.push(await probe.commits(store));
  };
  const askers = Array.from({ length: 5 }, ask);
  for (let ms = 0; ms < 1000; ms += 10) await clock.advance(10);
  isOver = true;
  await clock.advance(100);
  await Promise.all(askers);
  expect(commits).toBeGreaterThan(10);
  expect(commits).toBeLessThanOrEqual(22);
  expect(answers).toEqual(answers.map(() => true));
});

test('a question after the rest gets an answer of its own, when the store has failed since the last', async () => {
  const clock = new VirtualClock();
  const probe = new Probe(clock);
  expect(await probe.canRecord({ ping: async () => {} })).toBe(true);
  const next = probe.canRecord({ ping: () => Promise.reject(new Error('full')) });
  await clock.advance(50);
  expect(await next).toBe(false);
});

test('an ack that the store could not record counts for five seconds, or until one is recorded, whatever a check finds', async () => {
  const clock = new VirtualClock();
  const probe = new Probe(clock);
  const store = { ping: async () => {} };
  const refused = (code: 'STORE_UNAVAILABLE' | 'INPUT_INVALID') =>
    expect(probe.noting(Promise.reject(new KitError(code, 'no room')))).rejects.toThrow('no room');
  await refused('INPUT_INVALID');
  expect(await probe.commits(store)).toBe(true);
  await refused('STORE_UNAVAILABLE');
  await clock.advance(4999);
  await expect(probe.commits(store)).rejects.toThrow('no room');
  await clock.advance(1);
  expect(await probe.commits(store)).toBe(true);
  await refused('STORE_UNAVAILABLE');
  expect(await probe.noting(Promise.resolve('recorded'))).toBe('recorded');
  await clock.advance(50);
  expect(await probe.commits(store)).toBe(true);
});
