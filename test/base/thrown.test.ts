import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { headlineOf, isFromUsersFiles, messagesOf, placeOf, shown, textOf } from '../../src/base/thrown.ts';

/** An error whose stack lies in these places. */
function thrownAt(places: readonly string[], message = 'broken'): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...places.map((place) => `    at ${place}`)].join('\n');
  return error;
}

const ROOT = new URL('../../', import.meta.url).href;

describe('the text of an error', () => {
  test('has its name, code and message, when it has them', () => {
    class QuotaExceeded extends Error {}
    expect(textOf(Object.assign(new RangeError('too much'), { code: 'ERANGE' }))).toMatch(
      /^RangeError \[ERANGE\]: too much\n/,
    );
    expect(textOf(new QuotaExceeded('for today'))).toMatch(/^QuotaExceeded: for today\n/);
    expect(textOf(new DOMException('stopped', 'AbortError'))).toMatch(/^AbortError: stopped/);
    expect(textOf({ message: 'made by a library', code: 42 })).toBe('Error [42]: made by a library');
    expect(textOf(runInNewContext('new TypeError("of another realm")'))).toMatch(
      /^TypeError: of another realm/,
    );
  });

  test('has its causes one after the other, when there are several, with their codes', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED' });
    const text = textOf(new TypeError('fetch failed', { cause: new Error('no answer', { cause: refused }) }));
    expect(headlineOf(text)).toBe(
      'TypeError: fetch failed caused by: Error: no answer ' +
        'caused by: Error [ECONNREFUSED]: connect ECONNREFUSED 127.0.0.1:9',
    );
  });

  test('has the errors of an AggregateError, when it is one, and those of a cause', () => {
    const both = new AggregateError([new Error('by IPv6'), 'by IPv4'], 'no way');
    expect(headlineOf(textOf(both))).toBe('AggregateError: no way error 1: Error: by IPv6 error 2: by IPv4');
    expect(headlineOf(textOf(new Error('outer', { cause: both })))).toBe(
      'Error: outer caused by: AggregateError: no way error 1: Error: by IPv6 error 2: by IPv4',
    );
  });

  test('ends, when causes go round in a circle', () => {
    const error = new Error('one');
    error.cause = new Error('two', { cause: error });
    expect(headlineOf(textOf(error))).toBe(
      'Error: one caused by: Error: two caused by: the same error again',
    );
  });

  test('has the first stack line of the user’s files first, when others come before it, and none of Node', () => {
    const places = [
      'request (node:internal/deps/undici/undici:1:2)',
      `attempt (${ROOT}src/provider/http-client.ts:1:2)`,
      `ask (${ROOT}node_modules/library/index.js:3:4)`,
      `announce (${ROOT}src/handlers/media.ts:5:6)`,
      'elsewhere (file:///srv/shared/pages.ts:7:8)',
      'process.processTicksAndRejections (node:internal/process/task_queues:9:10)',
      'async node:internal/main:11:12',
    ];
    const lines = textOf(thrownAt(places)).split('\n').slice(1);
    expect(lines.map((line) => line.trim())).toEqual([
      `at announce (${ROOT}src/handlers/media.ts:5:6)`,
      `at attempt (${ROOT}src/provider/http-client.ts:1:2)`,
      `at ask (${ROOT}node_modules/library/index.js:3:4)`,
      'at elsewhere (file:///srv/shared/pages.ts:7:8)',
    ]);
  });

  test('keeps lines of its message, when they look like those of a stack', () => {
    const message = 'the answer was\n    at noon (maybe:1:2)';
    expect(textOf(thrownAt(['announce (/srv/media.ts:5:6)'], message))).toBe(
      `Error: ${message}\n    at announce (/srv/media.ts:5:6)`,
    );
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
    [null, 'null'],
    [42, '42'],
    [5n, '5n'],
    [Symbol('s'), 'Symbol(s)'],
    [{ status: 503, answer: ['later'] }, "{ status: 503, answer: [ 'later' ] }"],
  ])('is the value for people, when what was thrown is %p, which is no error', (thrown, text) => {
    expect(textOf(thrown)).toBe(text);
  });

  test('is there and bounded, whatever is thrown and whatever its members do', () => {
    const member = fc.oneof(
      fc.anything(),
      fc.string({ maxLength: 6000 }),
      fc.constant('a getter that throws'),
    );
    const members = ['name', 'message', 'stack', 'code', 'cause', 'errors', 'constructor', 'toString'];
    const record = fc.dictionary(fc.constantFrom(...members), member);
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof({ maxDepth: 4 }, fc.anything(), fc.tuple(record, tie('tree'), fc.array(tie('tree')))),
    }));
    const build = (value: unknown): unknown => {
      if (!Array.isArray(value) || value.length !== 3) return value;
      const [given, cause, errors] = value;
      const error = new Error('x', { cause: build(cause) });
      Object.assign(error, { errors: Array.isArray(errors) ? errors.map(build) : errors });
      for (const [name, one] of Object.entries(given ?? {})) {
        const get = () => {
          if (one === 'a getter that throws') throw new Error(one);
          return one;
        };
        Object.defineProperty(error, name, { get });
      }
      return error;
    };
    fc.assert(
      fc.property(tree, (value) => {
        const text = textOf(build(value));
        expect(typeof text).toBe('string');
        expect(text.length).toBeLessThanOrEqual(4000);
        expect(text.isWellFormed()).toBe(true);
        expect(headlineOf(text)).not.toContain('\n');
      }),
    );
  });
});

describe('every text of a thrown value', () => {
  const trap = () => {
    throw new Error('a trap');
  };
  const traps = Reflect.ownKeys(Reflect).filter((name) => typeof name === 'string');
  const targets: readonly (() => object)[] = [
    () => ({ message: 'said', code: 5, cause: 'why', errors: ['one'] }),
    () => Object.assign(new Error('said'), { code: 5 }),
    () => Object.assign(() => {}, { message: 'said', code: 5 }),
  ];

  test.each(traps)('is there, when the thrown value is a proxy whose %s throws', (name) => {
    for (const target of targets) {
      const proxy = new Proxy(target(), { [name]: trap });
      for (const thrown of [proxy, new Error('outer', { cause: proxy }), new AggregateError([proxy])]) {
        for (const text of [textOf(thrown), messagesOf(thrown), shown(thrown)]) {
          expect(text).toMatch(/\S/);
          expect(text).not.toContain('a trap');
        }
        expect(() => placeOf(thrown)).not.toThrow();
        expect(typeof isFromUsersFiles(thrown)).toBe('boolean');
      }
    }
  });

  test('has message and code, when the thrown value is a proxy that tells no prototype', () => {
    const proxy = new Proxy({ message: 'said', code: 5 }, { getPrototypeOf: trap });
    expect(textOf(proxy)).toBe('Error [5]: said');
  });
});

describe('a value for people', () => {
  test('stands in one line and is bounded, when it is large, and no code of its own runs', () => {
    let ran = 0;
    const own = {
      toString: () => ran++,
      toJSON: () => ran++,
      [Symbol.for('nodejs.util.inspect.custom')]: () => ran++,
    };
    const values = [
      own,
      new Proxy(own, { get: () => ran++ }),
      'x\ny'.repeat(10_000),
      new Error('a\nb'),
      [[[[own]]]],
    ];
    for (const value of values) {
      expect(shown(value)).not.toContain('\n');
      expect(shown(value).length).toBeLessThanOrEqual(200);
    }
    expect(ran).toBe(0);
  });
});

describe('the place of an error', () => {
  const ours = `settle (${ROOT}src/dispatch/run-handler.ts:1:2)`;

  test('is the first one in a file of the user, when others come before it', () => {
    const error = thrownAt([
      ours,
      'ask (file:///a/node_modules/b.js:3:4)',
      'async act (file:///srv/my%20own/h.ts:5:6)',
    ]);
    expect(placeOf(error)).toEqual({ file: '/srv/my own/h.ts', line: 5, column: 6 });
    expect(placeOf(thrownAt(['/srv/plain/h.cjs:7:8']))).toEqual({
      file: '/srv/plain/h.cjs',
      line: 7,
      column: 8,
    });
    expect(placeOf(thrownAt(['new Own (/srv/h.js:9:1)']))).toEqual({ file: '/srv/h.js', line: 9, column: 1 });
  });

  test('is that of its cause, when the error itself was made elsewhere, and none, when all were', () => {
    const cause = thrownAt(['load (file:///srv/h.ts:5:6)']);
    const outer = Object.assign(thrownAt([ours]), { cause });
    expect(placeOf(outer)).toEqual({ file: '/srv/h.ts', line: 5, column: 6 });
    for (const thrown of [thrownAt([ours]), 'a text', undefined, new Proxy({}, {})])
      expect(placeOf(thrown)).toBeUndefined();
  });

  test('is none that a message names', () => {
    const said = 'no\n    at x (file:///etc/hosts.ts:1:1)';
    expect(placeOf(thrownAt([ours], said))).toBeUndefined();
    expect(placeOf(thrownAt(['act (file:///srv/h.ts:5:6)'], said))).toMatchObject({ file: '/srv/h.ts' });
  });

  test('is beside what the error and its causes say, without their stacks', () => {
    const error = new TypeError('fetch failed', { cause: new Error('no answer') });
    expect(messagesOf(error)).toBe('TypeError: fetch failed\ncaused by: Error: no answer');
  });
});
