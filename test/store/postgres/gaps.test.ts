import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { gapsBetween, type Range, without } from '../../../src/store/postgres/tables/gaps.ts';

const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 })).map((all) => all.sort((a, b) => a - b));
const inside = (ranges: readonly Range[]) =>
  ranges.flatMap(({ event, last }) => Array.from({ length: last - event + 1 }, (_, index) => event + index));

test('numbers that are missing among others are in one gap each, when any are there', () => {
  fc.assert(
    fc.property(numbers, (there) => {
      const missing = inside(gapsBetween(0, there));
      const all = [...there, ...missing].sort((a, b) => a - b);
      expect(all).toEqual(Array.from({ length: there.at(-1) ?? 0 }, (_, index) => index + 1));
    }),
  );
});

test('a gap without the numbers that were found has all others, when any of them were', () => {
  fc.assert(
    fc.property(
      numbers,
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 0, max: 60 }),
      (found, event, more) => {
        const range = { event, last: event + more };
        const left = inside(without(range, found));
        expect(left).toEqual(inside([range]).filter((number) => !found.includes(number)));
      },
    ),
  );
});
