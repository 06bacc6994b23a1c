import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { TakingSoon } from '../../src/store/taking-soon.ts';

function taking(take: (times: number) => Promise<boolean>) {
  const clock = new VirtualClock(0);
  const at: number[] = [];
  const soon = new TakingSoon(clock, () => take(at.push(clock.now())));
  return { clock, soon, at };
}

test('what is recorded is taken in once, when it is recorded at the same time', async () => {
  const { clock, soon, at } = taking(async () => true);
  soon.recorded();
  soon.recorded();
  await clock.advance(10_000);
  expect(at).toEqual([250]);
});

test('what is recorded while the ledger is taken in is taken in soon, too', async () => {
  const { clock, soon, at } = taking(async (times) => {
    if (times === 1) soon.recorded();
    return true;
  });
  soon.recorded();
  await clock.advance(10_000);
  expect(at).toEqual([250, 500]);
});

test('the rest is taken in later, when not all was taken, or it failed', async () => {
  const { clock, soon, at } = taking(async (times) => {
    if (times === 1) throw new Error('locked');
    return times === 3;
  });
  soon.recorded();
  await clock.advance(10_000);
  expect(at).toEqual([250, 500, 750]);
});

test('nothing is taken in, when it was stopped before or meanwhile, and no timer is left', async () => {
  const { clock, soon, at } = taking(async () => {
    soon.stop();
    return false;
  });
  soon.recorded();
  await clock.advance(10_000);
  soon.recorded();
  expect(at).toEqual([250]);
  expect(clock.nextDue()).toBeUndefined();
});
