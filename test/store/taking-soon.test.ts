import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { TakingSoon } from '../../src/store/taking-soon.ts';
import { eventually } from '../support/eventually.ts';

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

test('the rest is taken in at once, when not all was taken, and later, when it failed', async () => {
  const { clock, soon, at } = taking(async (times) => {
    if (times === 1) throw new Error('locked');
    return times === 3;
  });
  soon.recorded();
  await clock.advance(10_000);
  expect(at).toEqual([250, 500, 500]);
});

test('one step runs at a time, however long it takes and however much is recorded meanwhile', async () => {
  const timers: (() => unknown)[] = [];
  const clock = {
    now: () => 0,
    after(_ms: number, fn: () => unknown) {
      timers.push(fn);
      return () => {};
    },
  };
  const steps: PromiseWithResolvers<boolean>[] = [];
  const soon = new TakingSoon(clock, () => {
    const step = Promise.withResolvers<boolean>();
    steps.push(step);
    return step.promise;
  });
  for (let quarters = 0; quarters < 10; quarters++) {
    soon.recorded();
    for (const fire of timers.splice(0)) fire();
  }
  expect(steps).toHaveLength(1);
  steps[0]?.resolve(false);
  await eventually('the next one runs', () => steps.length === 2);
  steps[1]?.resolve(true);
  await eventually('all is taken in', () => soon.behindSince !== undefined);
  for (const fire of timers.splice(0)) fire();
  steps[2]?.resolve(true);
  await eventually('nothing is behind', () => soon.behindSince === undefined);
});

test('it is behind since the first recording, while taking in fails, and no longer once it works', async () => {
  const { clock, soon } = taking(async (times) => {
    if (times <= 3) throw new Error('locked');
    return true;
  });
  expect(soon.behindSince).toBeUndefined();
  await clock.advance(100);
  soon.recorded();
  await clock.advance(900);
  soon.recorded();
  expect(soon.behindSince).toBe(100);
  await clock.advance(100);
  expect(soon.behindSince).toBeUndefined();
});

test('it is behind since the ledger was last taken in, when something was recorded meanwhile', async () => {
  const { clock, soon } = taking(async () => {
    if (clock.now() === 250) soon.recorded();
    return true;
  });
  soon.recorded();
  await clock.advance(400);
  expect(soon.behindSince).toBe(250);
  await clock.advance(100);
  expect(soon.behindSince).toBeUndefined();
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
