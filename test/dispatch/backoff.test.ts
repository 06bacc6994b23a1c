import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { backoffMs } from '../../src/dispatch/backoff.ts';
import { runs } from '../support/sizes.ts';

const ALMOST_ONE = 1 - 2 ** -32;
const attempts = fc.integer({ min: 1, max: 1000 });
const bases = fc.integer({ min: 1, max: 86_400_000 });
const caps = fc.integer({ min: 1, max: 30 * 86_400_000 });

describe('backoffMs', () => {
  test('stays between nothing and the cap, when anything is given, in whole milliseconds', () => {
    const randoms = fc.double({ min: 0, max: ALMOST_ONE, noNaN: true });
    const property = fc.property(attempts, bases, caps, randoms, (attempt, baseMs, capMs, random) => {
      const wait = backoffMs(attempt, { baseMs, capMs, random: () => random });
      expect(Number.isSafeInteger(wait)).toBe(true);
      expect(wait).toBeGreaterThanOrEqual(0);
      expect(wait).toBeLessThanOrEqual(Math.min(capMs, baseMs * 2 ** (attempt - 1)));
    });
    fc.assert(property, { numRuns: runs(1000) });
  });

  test('doubles its longest wait, when an attempt more has failed, until the cap', () => {
    const longest = (attempt: number) =>
      Math.ceil(backoffMs(attempt, { baseMs: 1000, capMs: 3_600_000, random: () => ALMOST_ONE }) / 1000);
    expect([1, 2, 3, 4, 12, 13, 14, 1000].map(longest)).toEqual([1, 2, 4, 8, 2048, 3600, 3600, 3600]);
  });

  test('is not longer, when an attempt less has failed and chance is the same', () => {
    const property = fc.property(attempts, bases, caps, fc.nat(), (attempt, baseMs, capMs, seed) => {
      const wait = (failed: number) => backoffMs(failed, { baseMs, capMs, random: seededRandom(seed) });
      expect(wait(attempt)).toBeLessThanOrEqual(wait(attempt + 1));
    });
    fc.assert(property);
  });

  test('spreads over all of its range, when many fail at once, so that they do not come back together', () => {
    const random = seededRandom(1);
    const waits = Array.from({ length: 4000 }, () => backoffMs(3, { baseMs: 1000, capMs: 60_000, random }));
    const quarters = [0, 1, 2, 3].map((quarter) =>
      waits.filter((wait) => Math.floor(wait / 1000) === quarter),
    );
    for (const { length } of quarters) expect(length).toBeGreaterThan(800);
    expect(new Set(waits).size).toBeGreaterThan(2000);
  });
});
