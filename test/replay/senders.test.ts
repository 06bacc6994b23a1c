import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Senders } from '../../src/replay/senders.ts';

test('keeps the order in each resource and the limits, when tasks take any time, and runs each once', async () => {
  const tasks = fc.array(fc.record({ resource: fc.nat(4), turns: fc.nat(5) }), { maxLength: 60 });
  const property = fc.asyncProperty(
    tasks,
    fc.integer({ min: 1, max: 5 }),
    fc.nat(5),
    async (given, concurrency, backlog) => {
      const senders = new Senders({ concurrency, backlog });
      const ended: number[][] = [[], [], [], [], []];
      const busy = new Set<number>();
      let most = 0;
      for (const [number, { resource, turns }] of given.entries()) {
        await senders.add(String(resource), async () => {
          expect(busy.has(resource)).toBe(false);
          busy.add(resource);
          most = Math.max(most, busy.size);
          for (let turn = 0; turn < turns; turn++) await setImmediate();
          busy.delete(resource);
          ended[resource]?.push(number);
        });
      }
      await senders.idle();
      const expected = ended.map((_, resource) =>
        given.flatMap((task, number) => (task.resource === resource ? [number] : [])),
      );
      expect(ended).toEqual(expected);
      expect(most).toBeLessThanOrEqual(concurrency);
    },
  );
  await fc.assert(property);
});

test('begins the task that was added first, when several resources are free, and at concurrency 1 keeps the order to the letter', async () => {
  const tasks = fc.array(fc.record({ resource: fc.nat(6), turns: fc.nat(4) }), { maxLength: 60 });
  const property = fc.asyncProperty(
    tasks,
    fc.integer({ min: 1, max: 4 }),
    fc.nat(30),
    async (given, concurrency, backlog) => {
      const senders = new Senders({ concurrency, backlog });
      const begun: number[] = [];
      const busy = new Set<number>();
      for (const [number, { resource, turns }] of given.entries()) {
        await senders.add(String(resource), async () => {
          begun.push(number);
          // Whatever was added before and has not begun waits for its own resource.
          const overtaken = given.keys().filter((other) => other < number && !begun.includes(other));
          expect([...overtaken].filter((other) => !busy.has(given[other]?.resource ?? -1))).toEqual([]);
          busy.add(resource);
          for (let turn = 0; turn < turns; turn++) await setImmediate();
          busy.delete(resource);
        });
      }
      await senders.idle();
      expect(begun.toSorted((one, other) => one - other)).toEqual([...given.keys()]);
      if (concurrency === 1) expect(begun).toEqual([...given.keys()]);
    },
  );
  await fc.assert(property);
});

test('waits, when as many tasks are taken as may wait, until one has ended', async () => {
  const senders = new Senders({ concurrency: 1, backlog: 1 });
  let end = () => {};
  await senders.add('one', () => new Promise<void>((resolve) => (end = resolve)));
  let isAdded = false;
  const second = senders.add('two', async () => {}).then(() => (isAdded = true));
  await setImmediate();
  expect(isAdded).toBe(false);
  end();
  await second;
  await senders.idle();
});

test('runs nothing more, when what waits is dropped, and tells an error of what ran', async () => {
  const senders = new Senders({ concurrency: 1, backlog: 5 });
  let end = () => {};
  let ran = 0;
  await senders.add(
    'one',
    () => new Promise<void>((_, reject) => (end = () => reject(new Error('full disk')))),
  );
  for (let count = 0; count < 3; count++) await senders.add('two', async () => void ran++);
  senders.drop();
  end();
  await expect(senders.idle()).rejects.toThrow('full disk');
  expect(ran).toBe(0);
});
