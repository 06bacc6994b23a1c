import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';

test('timers of a virtual clock fire in order of due time, then of creation, each after the promise of the one before', async () => {
  const clock = new VirtualClock(1000);
  const fired: [string, number][] = [];
  const note = (name: string) => () => void fired.push([name, clock.now()]);
  clock.after(20, note('late'));
  clock.after(10, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    note('first')();
  });
  clock.after(10, note('second'));
  const cancel = clock.after(15, note('cancelled'));
  clock.after(10, () => clock.after(5, note('set meanwhile')));
  clock.after(-5, note('at once'));
  cancel();
  expect(clock.nextDue()).toBe(1000);
  await clock.advance(19);
  const early = [
    ['at once', 1000],
    ['first', 1010],
    ['second', 1010],
    ['set meanwhile', 1015],
  ];
  expect(fired).toEqual(early);
  expect([clock.now(), clock.monotonic(), clock.nextDue()]).toEqual([1019, 1019, 1020]);
  await clock.advance(1);
  expect([fired.at(-1), clock.nextDue()]).toEqual([['late', 1020], undefined]);
});

test('a leap fires what is due by then at that time, and nothing that is set meanwhile', () => {
  const clock = new VirtualClock(0);
  const fired: number[] = [];
  clock.after(5, () => {
    fired.push(clock.now());
    clock.after(0, () => fired.push(-1));
  });
  clock.after(200, () => fired.push(-2));
  clock.leap(100);
  expect([fired, clock.nextDue()]).toEqual([[100], 100]);
  clock.leap(50); // never back
  expect(clock.now()).toBe(100);
});
