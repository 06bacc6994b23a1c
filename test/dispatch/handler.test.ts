import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { combineHandlers, defineHandlers } from '../../src/dispatch/handler.ts';
import { fail, parseReturned, retry, skip } from '../../src/dispatch/outcome.ts';
import { runStateOf } from '../../src/dispatch/resource-state.ts';
import { defineApp } from '../../src/index.ts';

test('combineHandlers throws, when two files handle one kind, and names it', () => {
  const one = defineHandlers({ async unknown() {} });
  expect(() => combineHandlers(one, one)).toThrow(
    new TypeError('two handlers for unknown: write one for both, or make one a subscriber of the app'),
  );
});

test('a wrong handler or app is a type error where it stands, which the compiler must find here', () => {
  const aDate = () => new Date();
  const mistakes = [
    // @ts-expect-error there is no such kind
    () => defineHandlers({ media_availible() {} }),
    // @ts-expect-error this is no outcome
    () => defineHandlers({ media_available: () => true }),
    // @ts-expect-error this kind has no such member
    () => defineHandlers({ media_available: (event) => skip(event.thumbnail_id) }),
    // @ts-expect-error what a step has stored is a text by then
    () => defineHandlers({ unknown: async (_, ctx) => skip((await ctx.once('a', aDate)).toJSON()) }),
    // @ts-expect-error the step is not awaited
    () => defineHandlers({ unknown: (_, ctx) => skip(ctx.once('a', () => ({ url: '/1' })).url) }),
    // @ts-expect-error what is opened is not what handlers expect
    () => defineApp({ start: () => ({ app: { crm: 1 } }), handlers: defineHandlers<{ pool: 1 }>({}) }),
    // @ts-expect-error nothing opens what handlers expect
    () => defineApp({ handlers: defineHandlers<{ crm: 1 }>({}) }),
    // @ts-expect-error this limit is of no kind
    () => defineApp({ handlers: {}, limits: { a: { kinds: ['b'], most: 2 } } }),
  ];
  expect(mistakes).toHaveLength(8);
});

const DAYS_30 = 30 * 86_400_000;
/** What a caller without types may give. */
const given = (value: unknown) => value as never;

describe('skip, retry and fail', () => {
  const reasons = [undefined, 5, { a: 1 }, Symbol('s')];
  test.each(reasons)('throw, when the reason is %p, with an error that says what it may be', (reason) => {
    const error = /reason of (skip|fail|retry)\(\) must be a string, and this handler gave /;
    for (const make of [skip, fail, (why: never) => retry({ reason: why })])
      expect(() => make(given(reason))).toThrow(error);
  });

  const times = [Number.NaN, 999, DAYS_30 + 1, '60000', 5n, new Date()];
  test.each(times)('throw, when after is %p, with an error that says what it may be', (after) => {
    expect(() => retry({ after: given(after), reason: 'r' })).toThrow(
      /after of retry\(\) must be a number of milliseconds between 1000 \(a second\) and 2592000000 \(30 days\), and this handler gave /,
    );
  });
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

  test('is an error, when it is none of these, which names what came and what may come', () => {
    const returned = parseReturned({ type: 'handled' });
    expect(returned).toEqual({ type: 'error', reason: expect.stringContaining("{ type: 'handled' }") });
    expect(returned).toHaveProperty('reason', expect.stringContaining('skip(), retry() or fail()'));
  });
});

const RESOURCE = 'media:media-1';
const MOST_BYTES = 65_536;

test.each<[string, unknown]>([
  ['NaN', Number.NaN],
  ['undefined', undefined],
  ['a BigInt', 1n],
  ['a Map', new Map()],
  ['a gap in a list', Array(1)],
])('a value of ctx.state is refused, when it is %s, wherever that stands', (_, value) => {
  const { state } = runStateOf({ resource: RESOURCE, state: [], reminders: [] }, systemClock);
  for (const given of [value, [value], ...(value === undefined ? [] : [{ a: [{ b: value }] }])])
    expect(() => state.set('value', given as object)).toThrow(
      /^the value "value" of ctx.state cannot be stored: /,
    );
});

test.each(['', 'x'.repeat(201), 42, undefined, '\ud800', 'a\0b'])('the name %j is refused', (name) => {
  const { state } = runStateOf({ resource: RESOURCE, state: [], reminders: [] }, systemClock);
  const given = name as string;
  for (const work of [() => state.get(given), () => state.set(given, 1), () => state.delete(given)])
    expect(work).toThrow(/the name of a value of ctx.state must be a string of 1 to 200 characters/);
});

test('a resource takes 64 KB, names included, and not a byte more; what is deleted or replaced makes room again', () => {
  const { state } = runStateOf(
    { resource: RESOURCE, state: [{ name: 'other', value: '1' }], reminders: [] },
    systemClock,
  ); // six bytes
  const room = MOST_BYTES - 6 - 2 - 2; // the name é and two quotation marks
  expect(() => state.set('é', 'x'.repeat(room + 1))).toThrow(RangeError);
  state.set('é', 'x'.repeat(room));
  expect(() => state.set('a', 1)).toThrow(`the state of ${RESOURCE} would take ${MOST_BYTES + 2} bytes`);
  state.set('é', 'small');
  state.delete('other');
  state.set('a', 'x'.repeat(60_000));
});
