import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '../../../src/base/seeded-random.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { quantileOf, Rates, Sample } from '../../../src/inspector/watch/rates.ts';
import { Rejections } from '../../../src/inspector/watch/rejections.ts';
import { resultOf } from '../../../src/inspector/watch/request-results.ts';
import { Watch } from '../../../src/inspector/watch/watch.ts';
import type { Answered } from '../../../src/observer.ts';

function answered(given: Partial<Answered>): Answered {
  const nothing = { recorded: undefined, error: undefined, refusal: undefined, kind: '', webhookId: '' };
  return { status: 200, ms: 1, source: '127.0.0.1', ...nothing, ...given };
}

describe('the result of a request', () => {
  test.each([
    [{ status: 401, refusal: { reason: 'claims differ', path: '/iat' } }, 'claims_differ'],
    [{ status: 401, refusal: { reason: 'not HS256' } }, 'not_hs256'],
    [{ status: 401, refusal: { reason: 'no secret' } }, 'no_secret'],
    [{ status: 401 }, 'no_token'],
    [{ status: 429, refusal: { reason: 'bad signature' } }, 'throttled'],
    [{ status: 400 }, 'malformed_body'],
    [{ status: 413 }, 'too_large'],
    [{ status: 405 }, 'wrong_method'],
    [{ status: 503 }, 'unavailable'],
    [{ status: 500 }, 'failed'],
  ] as const)('is told by one word, when it is %j: %s', (given, result) => {
    expect(resultOf(answered(given))).toBe(result);
  });
});

describe('rejections', () => {
  test('are the last 200, when there were more, newest first', () => {
    const rejections = new Rejections();
    for (let at = 0; at < 450; at++) rejections.add({ at, result: 'no_token', answer: answered({}) });
    const times = rejections.list().map(({ at }) => at);
    expect(times).toEqual(Array.from({ length: 200 }, (_, index) => 449 - index));
  });

  test('are none, when the service itself was at fault, as with 503 and 500', () => {
    const watch = new Watch(new VirtualClock());
    for (const status of [500, 503]) watch.answered(answered({ status }));
    expect(watch.rejections.list()).toEqual([]);
    watch.answered(answered({ status: 401 }));
    expect(watch.rejections.list()).toHaveLength(1);
  });

  test('do not count what was not recorded, when that is 503 and 500, which has a count of its own', () => {
    const clock = new VirtualClock();
    const watch = new Watch(clock);
    for (const status of [500, 503, 401]) watch.answered(answered({ status }));
    expect(watch.rates.recent('notRecorded', 600_000, clock.now())).toBe(2);
    expect(watch.rates.recent('rejected', 600_000, clock.now())).toBe(1);
  });
});

describe('rates', () => {
  test('are by the second and step, when things happen over time, and an hour long', () => {
    const rates = new Rates();
    const now = Date.UTC(2026, 0, 1);
    for (let n = 0; n < 50; n++) rates.count('accepted', now);
    rates.count('accepted', now + 10_000);
    const series = rates.series(now + 20_000);
    expect(series.times).toHaveLength(360);
    expect(series.accepted.slice(-2)).toEqual([5, 0.1]);
    expect(rates.recent('accepted', 600_000, now + 20_000)).toBe(51);
    expect(rates.recent('accepted', 600_000, now + 700_000)).toBe(0);
    expect(rates.series(now + 3_700_000).accepted.every((rate) => rate === 0)).toBe(true);
  });

  test('stay bounded, when time goes on for a day, at one hour', () => {
    const rates = new Rates();
    for (let at = 0; at < 86_400_000; at += 10_000) rates.count('accepted', at);
    expect(rates.recent('accepted', 86_400_000, 86_400_000)).toBe(360);
  });

  test('hold their place, when the clock is set back, rather than lose what comes', () => {
    const rates = new Rates();
    rates.count('accepted', 100_000);
    rates.count('accepted', 50_000);
    expect(rates.recent('accepted', 60_000, 100_000)).toBe(2);
  });

  test('have no quantile, when nothing was timed', () => {
    expect(new Rates().quantiles('ack', 600_000, 0)).toEqual({ p50: null, p99: null });
  });
});

test('a sample tells quantiles fairly, when it saw far more values than it keeps', () => {
  const sample = new Sample(seededRandom(3));
  for (let value = 0; value < 100_000; value++) sample.add(value);
  expect(sample.seen).toBe(100_000);
  expect(Math.abs((quantileOf([sample], 0.5) ?? 0) - 50_000)).toBeLessThan(15_000);
  expect(quantileOf([sample], 0.99)).toBeGreaterThan(95_000);
  const few = new Sample();
  for (let n = 0; n < 100; n++) few.add(-1);
  expect(quantileOf([sample, few], 0.01)).toBeGreaterThan(-1);
  expect(quantileOf([few], 0.5)).toBe(-1);
});
