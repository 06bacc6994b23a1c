import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Lanes } from '../../src/replay/senders.ts';

test('keeps the order in each lane and the limits, when tasks take any time, and runs each once', async () => {
  const tasks = fc.array(fc.record({ lane: fc.nat(4), turns: fc.nat(5) }), { maxLength: 60 });
  const property = fc.asyncProperty(
    tasks,
    fc.integer({ min: 1, max: 5 }),
    fc.nat(5),
    async (given, concurrency, backlog) => {
      const lanes = new Lanes({ concurrency, backlog });
      const ended: number[][] = [[], [], [], [], []];
      const busy = new Set<number>();
      let most = 0;
      for (const [number, { lane, turns }] of given.entries()) {
        await lanes.add(String(lane), async () => {
          expect(busy.has(lane)).toBe(false);
          busy.add(lane);
          most = Math.max(most, busy.size);
          for (let turn = 0; turn < turns; turn++) await setImmediate();
          busy.delete(lane);
          ended[lane]?.push(number);
        });
      }
      await lanes.idle();
      const expected = ended.map((_, lane) =>
        given.flatMap((task, number) => (task.lane === lane ? [number] : [])),
      );
      expect(ended).toEqual(expected);
      expect(most).toBeLessThanOrEqual(concurrency);
    },
  );
  await fc.assert(property);
});

test('begins the task that was added first, when several lanes are free, and at concurrency 1 keeps the order to the letter', async () => {
  const tasks = fc.array(fc.record({ lane: fc.nat(6), turns: fc.nat(4) }), { maxLength: 60 });
  const property = fc.asyncProperty(
    tasks,
    fc.integer({ min: 1, max: 4 }),
    fc.nat(30),
    async (given, concurrency, backlog) => {
      const lanes = new Lanes({ concurrency, backlog });
      const begun: number[] = [];
      const busy = new Set<number>();
      for (const [number, { lane, turns }] of given.entries()) {
        await lanes.add(String(lane), async () => {
          begun.push(number);
          // Whatever was added before and has not begun waits for its own lane.
          const overtaken = given.keys().filter((other) => other < number && !begun.includes(other));
          expect([...overtaken].filter((other) => !busy.has(given[other]?.lane ?? -1))).toEqual([]);
          busy.add(lane);
          for (let turn = 0; turn < turns; turn++) await setImmediate();
          busy.delete(lane);
        });
      }
      await lanes.idle();
      expect(begun.toSorted((one, other) => one - other)).toEqual([...given.keys()]);
      if (concurrency === 1) expect(begun).toEqual([...given.keys()]);
    },
  );
  await fc.assert(property);
});

test('waits, when as many tasks are taken as may wait, until one has ended', async () => {
  const lanes = new Lanes({ concurrency: 1, backlog: 1 });
  let end = () => {};
  await lanes.add('one', () => new Promise<void>((resolve) => (end = resolve)));
  let isAdded = false;
  const second = lanes.add('two', async () => {}).then(() => (isAdded = true));
  await setImmediate();
  expect(isAdded).toBe(false);
  end();
  await second;
  await lanes.idle();
});

test('runs nothing more, when what waits is dropped, and tells an error of what ran', async () => {
  const lanes = new Lanes({ concurrency: 1, backlog: 5 });
  let end = () => {};
  let ran = 0;
  await lanes.add(
    'one',
    () => new Promise<void>((_, reject) => (end = () => reject(new Error('full disk')))),
  );
  for (let count = 0; count < 3; count++) await lanes.add('two', async () => void ran++);
  lanes.drop();
  end();
  await expect(lanes.idle()).rejects.toThrow('full disk');
  expect(ran).toBe(0);
});
