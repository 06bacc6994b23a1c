import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seededRandom } from '../../src/base/seeded-random.ts';
import { fail, retry, skip } from '../../src/dispatch/handler.ts';
import { backoffMs, type RetryPolicy, releaseOf, settlementOf } from '../../src/dispatch/settlement.ts';
import { runs } from '../support/sizes.ts';

const policy: RetryPolicy = { maxAttempts: 3, baseMs: 1000, capMs: 60_000, random: () => 0.5 };

describe('settlementOf', () => {
  test('ends an event, when it was handled, without an error', () => {
    expect(settlementOf({ type: 'handled' }, 1, policy)).toEqual({
      status: 'handled',
      outcome: 'handled',
    });
  });

  test('ends an event, when it was skipped, with the reason', () => {
    expect(settlementOf(skip('not for us'), 1, policy)).toEqual({
      status: 'skipped',
      outcome: 'skipped',
      error: 'not for us',
    });
  });

  test.each([fail('never'), { type: 'dead', reason: 'never' } as const])(
    'gives an event up, when its run ended as %j, though it has attempts left',
    (run) => {
      expect(settlementOf(run, 1, policy)).toEqual({
        status: 'dead',
        outcome: 'failed',
        error: 'never',
      });
    },
  );

  test.each([
    [{ type: 'error', reason: 'down' } as const, 1, 500],
    [{ type: 'error', reason: 'down' } as const, 2, 1000],
    [{ type: 'timeout', reason: 'down' } as const, 2, 1000],
    [retry({ reason: 'down' }), 2, 1000],
    [retry({ reason: 'down', after: 0 }), 2, 0],
    [retry({ reason: 'down', after: 86_400_000 }), 2, 86_400_000],
  ])('puts an event off, when its run ended as %j in attempt %d, by %d ms', (run, attempt, after) => {
    expect(settlementOf(run, attempt, policy)).toEqual({
      status: 'pending',
      outcome: run.type,
      error: 'down',
      afterMs: after,
    });
  });

  test.each([
    { type: 'error', reason: 'down' } as const,
    { type: 'timeout', reason: 'down' } as const,
    retry({ reason: 'down', after: 1 }),
  ])('gives an event up, when its last attempt ended as %j, with the reason', (run) => {
    expect(settlementOf(run, 3, policy)).toEqual({ status: 'dead', outcome: run.type, error: 'down' });
    expect(settlementOf(run, 4, policy).status).toBe('dead');
  });
});

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

describe('releaseOf', () => {
  /** What ends each start of an event, in turn: a stop, or a failure of its handler. */
  const ends = fc.array(fc.constantFrom('stop' as const, 'failure' as const), {
    minLength: 1,
    maxLength: 12,
  });

  test('lets an event have all its attempts, when stops and failures take turns in any order, and as many starts more at most', () => {
    const property = fc.property(fc.integer({ min: 1, max: 20 }), ends, (maxAttempts, turns) => {
      let [starts, attempts] = [0, 0];
      for (;;) {
        const end = turns[starts % turns.length];
        starts++;
        attempts++;
        const settlement =
          end === 'stop'
            ? releaseOf({ starts, attempts }, { maxAttempts })
            : settlementOf({ type: 'error', reason: 'down' }, attempts, { ...policy, maxAttempts });
        if (settlement.isUncounted) attempts--;
        expect(attempts).toBeLessThanOrEqual(maxAttempts);
        expect(starts).toBeLessThanOrEqual(2 * maxAttempts);
        if (settlement.status === 'dead') break;
        expect(settlement.status).toBe('pending');
      }
      const stops = starts - attempts;
      expect([attempts, stops <= maxAttempts]).toEqual([maxAttempts, true]);
    });
    fc.assert(property, { numRuns: runs(100) });
  });
});
