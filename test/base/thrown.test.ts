import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { headlineOf, isFromUsersFiles, shown, stackTextOf, textOf } from '../../src/base/thrown.ts';

const ROOT = new URL('../../', import.meta.url).href;

/** An error whose stack lies in these places. */
function thrownAt(places: readonly string[], message = 'broken'): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...places.map((place) => `    at ${place}`)].join('\n');
  return error;
}

class QuotaExceeded extends Error {}

const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
const both = new AggregateError([new Error('by IPv6'), 'by IPv4'], 'no way');
const circle = new Error('one');
circle.cause = new Error('two', { cause: circle });

describe('the text of an error', () => {
  test.each<[string, unknown, string]>([
    [
      'its name, code and message',
      Object.assign(new RangeError('too much'), { code: 'ERANGE' }),
      'RangeError [ERANGE]: too much',
    ],
    ['the name of its class', new QuotaExceeded('for today'), 'QuotaExceeded: for today'],
    ['no message, where it has none', new QuotaExceeded(), 'QuotaExceeded'],
    ['the same, if it is of another realm', runInNewContext('new TypeError("there")'), 'TypeError: there'],
    [
      'its causes with their codes',
      new TypeError('fetch failed', { cause: new Error('no answer', { cause: refused }) }),
      'TypeError: fetch failed caused by: Error: no answer caused by: Error [ECONNREFUSED]: connect ECONNREFUSED 127.0.0.1:9',
    ],
    [
      'the errors of an AggregateError',
      new Error('outer', { cause: both }),
      'Error: outer caused by: AggregateError: no way error 1: Error: by IPv6 error 2: by IPv4',
    ],
    ['an end, though causes go round in a circle', circle, 'Error: one caused by: Error: two'],
  ])('has %s', (_what, thrown, headline) => {
    expect(headlineOf(textOf(thrown))).toBe(headline);
  });

  test('has ten lines of its stack, and none inside of Node', () => {
    const places = Array.from({ length: 20 }, (_, index) => `f (file:///srv/x.ts:${index}:1)`);
    const text = textOf(
      thrownAt(['request (node:internal/deps/undici:1:2)', ...places, 'node:internal/main:1:2']),
    );
    expect(text.split('\n')).toEqual([
      'Error: broken',
      ...places.slice(0, 10).map((place) => `    at ${place}`),
    ]);
  });

  test('has room for the causes, when message and stacks are enormous, in 4,000 characters', () => {
    const places = Array.from(
      { length: 5000 },
      (_, index) => `f${index} (/srv/${'deep/'.repeat(30)}x.ts:1:2)`,
    );
    const outer = thrownAt(places, 'm'.repeat(20_000_000));
    outer.cause = thrownAt(places, 'the cause of it');
    const text = textOf(outer);
    expect(text.length).toBeLessThanOrEqual(4000);
    expect(text).toContain('caused by: Error: the cause of it');
  });

  test.each([
    ['text', 'text'],
    [undefined, 'undefined'],
    [42, '42'],
    [5n, '5n'],
    [Symbol('s'), 'Symbol(s)'],
    [{ status: 503, answer: ['later'] }, "{ status: 503, answer: [ 'later' ] }"],
  ])('is the value for people, when what was thrown is %p, which is no error', (thrown, text) => {
    expect(textOf(thrown)).toBe(text);
  });
});

describe('the texts of a thrown value', () => {
  const trap = () => {
    throw new Error('a trap');
  };
  const members = ['name', 'message', 'stack', 'code', 'cause', 'errors', 'constructor', 'toString'];
  const hostile: unknown[] = [
    ...members.map((name) => Object.defineProperty(new Error('x'), name, { get: trap })),
    ...members.map((name) => Object.defineProperty(new Error('x'), name, { value: Symbol('odd') })),
    ...Object.getOwnPropertyNames(Reflect).map((name) => new Proxy(new Error('x'), { [name]: trap })),
    Object.setPrototypeOf(new Error('x'), null),
    {
      [Symbol.toPrimitive]: trap,
      toString: trap,
      toJSON: trap,
      [Symbol.for('nodejs.util.inspect.custom')]: trap,
    },
    Object.create(null),
  ];

  test('are there and bounded, whatever its getters, proxies and members do', () => {
    for (const one of hostile) {
      for (const thrown of [one, new Error('outer', { cause: one }), new AggregateError([one])]) {
        for (const text of [textOf(thrown), stackTextOf(thrown), shown(thrown)]) expect(text).toMatch(/\S/);
        expect(textOf(thrown).length).toBeLessThanOrEqual(4000);
        expect(typeof isFromUsersFiles(thrown)).toBe('boolean');
      }
    }
    fc.assert(
      fc.property(fc.anything(), fc.anything(), (thrown, cause) => {
        const error = Object.assign(new Error('x', { cause }), { message: thrown, errors: cause });
        for (const text of [textOf(thrown), textOf(error), shown(thrown)]) {
          expect(text.length).toBeLessThanOrEqual(4000);
          expect(text.isWellFormed()).toBe(true);
        }
      }),
    );
  });

  test('stand in one line of 200 characters for an error message, and no code of the value runs', () => {
    let ran = 0;
    const own = {
      toString: () => ran++,
      toJSON: () => ran++,
      [Symbol.for('nodejs.util.inspect.custom')]: () => ran++,
    };
    for (const value of [
      own,
      new Proxy(own, { get: () => ran++ }),
      'x\ny'.repeat(10_000),
      new Error('a\nb'),
      [[[[own]]]],
    ]) {
      expect(shown(value)).not.toContain('\n');
      expect(shown(value).length).toBeLessThanOrEqual(200);
    }
    expect(ran).toBe(0);
  });
});

test.each([
  ['a file of the user', `act (file:///srv/my%20own/h.ts:5:6)`, true],
  ['a handler of the clone', `act (${ROOT}src/handlers/media.ts:5:6)`, true],
  ['the kit', `settle (${ROOT}src/dispatch/run-handler.ts:1:2)`, false],
  ['a package', 'ask (file:///a/node_modules/b.js:3:4)', false],
  ['Node', 'process.run (node:internal/process:1:2)', false],
])('an error from %s is from the files of the user: %p', (_what, place, isTheirs) => {
  expect(isFromUsersFiles(thrownAt([place]))).toBe(isTheirs);
});
