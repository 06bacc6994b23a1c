import { describe, expect, test } from '@jest/globals';
import { fail, parseReturned, retry, skip } from '../../src/dispatch/outcome.ts';

const DAYS_30 = 30 * 86_400_000;
/** What a caller without types may give. */
const given = (value: unknown) => value as never;

describe('skip, retry and fail', () => {
  test.each([undefined, null, 5, { a: 1 }, new Error('x'), Symbol('s'), Buffer.from('b')])(
    'throw, when the reason is %p, which is no string, with an error that says what it may be',
    (reason) => {
      const error = /reason of (skip|fail|retry)\(\) must be a string, and this handler gave /;
      for (const make of [skip, fail, (why: never) => retry({ reason: why })])
        expect(() => make(given(reason))).toThrow(error);
    },
  );

  test.each([Number.NaN, -1, 999, DAYS_30 + 1, Number.POSITIVE_INFINITY, '60000', 5n, null, new Date()])(
    'throw, when after is %p, with an error that says what came and what it may be',
    (after) => {
      expect(() => retry({ after: given(after), reason: 'r' })).toThrow(
        /after of retry\(\) is a number of milliseconds between 1000 \(a second\) and 2592000000 \(30 days\), and this handler gave /,
      );
    },
  );
});

describe('the return value of a handler', () => {
  test.each([1000, 1000.5, DAYS_30, undefined])('counts, when after is %p', (after) => {
    expect(parseReturned(retry({ reason: 'r', after: given(after) }))).toEqual({
      type: 'retry',
      reason: 'r',
      after,
    });
  });

  test('has its reason cut at 4,000 characters, when it is longer', () => {
    expect(parseReturned(skip('x'.repeat(4001)))).toEqual(skip('x'.repeat(4000)));
    expect(parseReturned(fail(`${'x'.repeat(3999)}😀`))).toEqual(fail(`${'x'.repeat(3999)}\ufffd`));
  });

  test.each([
    [true, 'true'],
    [{ type: 'handled' }, "{ type: 'handled' }"],
  ])('is an error, when it is %p, which names what came and what may come', (value, text) => {
    const returned = parseReturned(value);
    expect(returned).toEqual({ type: 'error', reason: expect.stringContaining(text) });
    expect(returned).toHaveProperty('reason', expect.stringContaining('skip(), retry() or fail()'));
  });
});
