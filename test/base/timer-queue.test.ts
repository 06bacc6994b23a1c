import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { TimerQueue } from '../../src/base/timer-queue.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';

describe('a timer queue', () => {
  test('returns the timers that were added and not removed, in any sequence of both, in order of due time, then of creation', () => {
    const step = fc.record({ due: fc.nat(20), remove: fc.option(fc.nat()) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new TimerQueue();
        const model: ReturnType<TimerQueue['add']>[] = [];
        for (const { due, remove } of steps) {
          model.push(queue.add(due, () => {}));
          if (remove === null) continue;
          const [removed] = model.splice(remove % model.length, 1);
          if (removed) queue.remove(removed);
          if (removed) queue.remove(removed);
        }
        const expected = model.toSorted((one, other) => one.due - other.due || one.order - other.order);
        const drained = [];
        for (let first = queue.first(); first; first = queue.first()) {
          drained.push(first);
          queue.remove(first);
        }
        expect(drained).toEqual(expected);
      }),
    );
  });
});

describe('a virtual clock', () => {
  test('fires 100,000 timers, given in reverse, in order', async () => {
    const clock = new VirtualClock(0);
    const fired: number[] = [];
    for (let due = 100_000; due > 0; due--) clock.after(due, () => fired.push(due));
    await clock.advance(100_000);
    expect(fired).toEqual(fired.toSorted((one, other) => one - other));
    expect(clock.nextDue()).toBeUndefined();
  });

  test('does not go back, when advances overlap, to where the shorter one ends', async () => {
    const clock = new VirtualClock(0);
    clock.after(5, () => clock.advance(100));
    await clock.advance(10);
    expect(clock.now()).toBe(105);
  });
});
