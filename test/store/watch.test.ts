import { afterEach, expect, jest, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { Watch } from '../../src/store/watch.ts';
import { eventually } from '../support/eventually.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

test('a listener is told of what another process recorded between its call and the first look', async () => {
  const clock = new VirtualClock();
  const looked = Promise.withResolvers<number>();
  const watch = new Watch(clock, () => looked.promise);
  let told = 0;
  watch.listen(() => told++);
  looked.resolve(7); // it was 6 when the listener read the ledger
  await eventually('it is told', () => told > 0);
  await clock.advance(10_000);
  expect(told).toBe(1);
  watch.stop();
});

test('a listener that throws keeps nothing from the others, nor from who recorded', () => {
  const later: (() => void)[] = [];
  jest.spyOn(globalThis, 'queueMicrotask').mockImplementation((fn) => void later.push(fn));
  const watch = new Watch(new VirtualClock(), async () => 0);
  let told = 0;
  watch.listen(() => {
    throw new Error('of the listener');
  });
  watch.listen(() => told++);
  watch.tell();
  expect(told).toBe(1);
  expect(later).toHaveLength(1);
  expect(later[0]).toThrow('of the listener');
  watch.stop();
});
