import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { RequestQueue } from '../../../src/store/threads/request-queue.ts';

/** A queue in which so many acks and so many other requests wait. */
function queueOf(acks: number, others: number): RequestQueue {
  const queue = new RequestQueue();
  const push = (name: string) => queue.push({ name, input: undefined, resolve() {}, reject() {} });
  for (let count = 0; count < others; count++) push('settle');
  for (let count = 0; count < acks; count++) push('record');
  return queue;
}

test('of the requests that wait, acks go first, and half of each commit is left to the others, however many acks come', () => {
  fc.assert(
    fc.property(fc.nat(2000), fc.nat(2000), (acks, others) => {
      const names = queueOf(acks, others)
        .next()
        .map(({ name }) => name);
      const taken = names.filter((name) => name === 'record').length;
      expect(names.slice(0, taken).every((name) => name === 'record')).toBe(true);
      expect(taken).toBe(Math.min(acks, 512));
      expect(names.length - taken).toBeGreaterThanOrEqual(Math.min(others, taken));
      expect(names.length).toBeLessThanOrEqual(1024);
    }),
  );
});

test('a commit takes a few others along, when there are few acks, and many, when there is none', () => {
  expect(queueOf(1, 100).next()).toHaveLength(65);
  expect(queueOf(0, 100).next()).toHaveLength(100);
  expect(queueOf(0, 1000).next()).toHaveLength(512);
});
