import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseConfig } from '../../src/config.ts';
import { fail, retry, skip } from '../../src/dispatch/handler.ts';
import { endingOf, pauseMs, type RetryPolicy } from '../../src/dispatch/settlement.ts';
import { runs } from '../support/sizes.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 0, 1);
const policy: RetryPolicy = {
  config: { RETRY_MAX_ATTEMPTS: 3, RETRY_BASE_MS: 1000, RETRY_CAP_MS: 60_000 },
  random: () => 0.5,
};
const failed = { type: 'error', reason: 'down' } as const;
/** A claim of so many failed attempts before this one. */
const claim = (attempts: number, askedAt?: number) => ({ starts: attempts + 1, attempts, askedAt });

describe('an event', () => {
  test.each([
    [{ type: 'handled' } as const, { status: 'handled', outcome: 'handled' }],
    [skip('not for us'), { status: 'skipped', outcome: 'skipped', error: 'not for us' }],
    [fail('never'), { status: 'dead', outcome: 'failed', error: 'never' }],
  ])('ends, when its handler ended as %j', (run, ending) => {
    expect(endingOf(run, claim(0), policy, NOW)).toMatchObject(ending);
  });

  test.each([
    [0, 750],
    [1, 1500],
  ])(
    'waits after failed attempt %i + 1, between half and all of the pause, and one attempt is used up',
    (attempts, afterMs) => {
      expect(endingOf(failed, claim(attempts), policy, NOW)).toMatchObject({
        status: 'pending',
        error: 'down',
        afterMs,
        counts: true,
      });
    },
  );

  test('is dead, when its last attempt failed', () => {
    expect(endingOf(failed, claim(2), policy, NOW)).toMatchObject({
      status: 'dead',
      outcome: 'error',
      error: 'down',
    });
  });

  test('comes back as its handler asks, and no attempt is used up, also after the last', () => {
    const ending = endingOf(retry({ reason: 'not yet', after: DAY_MS }), claim(7), policy, NOW);
    expect(ending).toMatchObject({ status: 'pending', outcome: 'retry', afterMs: DAY_MS, counts: false });
  });

  test('is dead, when its handler has asked to come back for 30 days', () => {
    const asking = (days: number) =>
      endingOf(retry({ reason: 'not yet' }), claim(0, NOW - days * DAY_MS), policy, NOW);
    expect([asking(29).status, asking(31).status]).toEqual(['pending', 'dead']);
  });
});

describe('the pause before a retry', () => {
  test('is between half and all of what doubles with each attempt, up to the cap', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const property = fc.property(fc.integer({ min: 1, max: 1000 }), random, (attempt, drawn) => {
      const longest = Math.min(3_600_000, 1000 * 2 ** (attempt - 1));
      const wait = pauseMs(attempt, { config: parseConfig({}), random: () => drawn });
      expect(wait).toBeGreaterThanOrEqual(longest / 2);
      expect(wait).toBeLessThanOrEqual(longest);
    });
    fc.assert(property, { numRuns: runs(1000) });
  });
});
