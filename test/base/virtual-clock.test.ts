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
  expect(fired.map(([name]) => name)).toEqual(['at once', 'first', 'second', 'set meanwhile']);
  expect(fired.map(([, at]) => at)).toEqual([1000, 1010, 1010, 1015]);
  expect([clock.now(), clock.monotonic(), clock.nextDue()]).toEqual([1019, 1019, 1020]);
});
