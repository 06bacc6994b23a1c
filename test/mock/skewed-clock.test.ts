import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { SkewedClock } from '../../src/mock/skewed-clock.ts';

describe('a skewed clock', () => {
  test('runs as its base does, when it is not put forward', async () => {
    const base = new VirtualClock(1000);
    const clock = new SkewedClock(base);
    const fired: string[] = [];
    clock.after(20, () => fired.push('second'));
    clock.after(10, () => fired.push('first'));
    clock.after(15, () => fired.push('cancelled'))();
    await base.advance(10);
    expect([clock.now(), fired]).toEqual([1010, ['first']]);
    await base.advance(10);
    expect(fired).toEqual(['first', 'second']);
  });

  test('fires what falls due on the way, when it is put forward, in order, waiting for each', async () => {
    const clock = new SkewedClock(new VirtualClock(1000));
    const fired: number[] = [];
    clock.after(200, () => fired.push(clock.now()));
    clock.after(100, async () => {
      await Promise.resolve();
      fired.push(clock.now());
      clock.after(50, () => fired.push(clock.now()));
    });
    clock.after(301, () => fired.push(clock.now()));
    await clock.advance(300);
    expect([clock.now(), fired]).toEqual([1300, [1100, 1150, 1200]]);
  });

  test('goes on running from there, after it was put forward', async () => {
    const base = new VirtualClock(1000);
    const clock = new SkewedClock(base);
    let fired = 0;
    clock.after(500, () => fired++);
    await clock.advance(400);
    await base.advance(99);
    expect(fired).toBe(0);
    await base.advance(1);
    expect([fired, clock.now()]).toEqual([1, 1500]);
  });
});
