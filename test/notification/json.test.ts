import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { MAX_DEPTH, parseJsonObject, parseJsonText } from '../../src/notification/json.ts';
import { jsonObject, spaced } from '../support/json-values.ts';

const bytesOf = (text: string) => Buffer.from(text, 'utf8');
const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;

describe('a JSON object', () => {
  test('of any shape, written by JSON.stringify, is read as the same value and text', () => {
    fc.assert(
      fc.property(jsonObject, (value) => {
        const text = JSON.stringify(value);
        expect(parseJsonObject(bytesOf(text))).toEqual({ text, value });
      }),
    );
  });

  test('of any shape, with spaces everywhere, is read as the same value and keeps its text', () => {
    fc.assert(
      fc.property(jsonObject, (value) => {
        const text = spaced(value);
        expect(parseJsonObject(bytesOf(text))).toEqual({ text, value });
      }),
    );
  });

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', ''])(
    'with a member named %p, as with any other name, has that member and nothing else changes',
    (name) => {
      const value = parseJsonText(`{${JSON.stringify(name)}:{"polluted":true}}`);
      expect(Object.entries(value)).toEqual([[name, { polluted: true }]]);
      expect(Object.getPrototypeOf(value)).toBe(Object.getPrototypeOf(parseJsonText('{}')));
      expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    },
  );

  test('with as many levels as are allowed, at the limit, is read', () => {
    expect(() => parseJsonText(nested(MAX_DEPTH))).not.toThrow();
    expect(() =>
      parseJsonText(`{"a":${'['.repeat(MAX_DEPTH - 1)}${']'.repeat(MAX_DEPTH - 1)}}`),
    ).not.toThrow();
  });

  test('with brackets, colons and numbers inside of texts, which mean nothing there, is read', () => {
    const value = { '{[":\\"1e999': `${'['.repeat(100)}:":1e999\\` };
    expect(parseJsonText(JSON.stringify(value))).toEqual(value);
  });

  test.each([
    '0',
    '-0',
    '0.0',
    '1.50e3',
    '1500',
    '-1.5E+3',
    '9007199254740991',
    '1e21',
    '5e-324',
    '0.1',
    '100e-2',
    '0e99',
  ])('with the number %s, which a double holds, is read', (number) => {
    expect(parseJsonText(`{"n":${number}}`)).toEqual({ n: Number(number) });
  });
});

describe('a text with two readings', () => {
  test.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":3}',
    '{"a":1,"\\u0061":2}',
    '{"a":{"b":1,"b":2}}',
    '{"a":[{"b":1,"b":2}]}',
    '{"__proto__":1,"__proto__":2}',
    '{"":1,"":2}',
    '{"a":{"x":1},"a":1}',
  ])('such as %s, having a member twice, is refused', (text) => {
    expect(() => parseJsonText(text)).toThrow(
      new SyntaxError('ambiguous: a member appears twice in one object'),
    );
  });

  test.each([
    '9007199254740993',
    '-9007199254740993',
    '123456789012345678',
    '0.10000000000000000001',
    '1e400',
    '-1e400',
    '1e-400',
    '1e99999999999999999999',
    '3.14159265358979323846264338327950288',
  ])('with the number %s, which a double cannot hold, is refused', (number) => {
    const refused = new SyntaxError('inexact: a number is beyond double precision');
    expect(() => parseJsonText(`{"n":${number}}`)).toThrow(refused);
    expect(() => parseJsonText(`{"n":[1,{"m":[${number}]}]}`)).toThrow(refused);
  });
});

describe('bytes that are no JSON object', () => {
  test.each(['null', 'true', '0', '"text"', '[]', '[{}]'])(
    'such as %s, being another value, are refused',
    (text) => {
      expect(() => parseJsonText(text)).toThrow(new SyntaxError('not a JSON object'));
    },
  );

  test.each([
    '',
    ' ',
    '{',
    '{}{}',
    '{},',
    "{'a':1}",
    '{a:1}',
    '{"a":1,}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":NaN}',
    '{"a":"\n"}',
    '// {}',
    '\u00a0{}',
  ])('such as %j, being no JSON, are refused without being quoted', (text) => {
    expect(() => parseJsonText(text)).toThrow(new SyntaxError('not valid JSON'));
  });

  test.each([
    ['a byte order mark', [0xef, 0xbb, 0xbf, 0x7b, 0x7d]],
    ['UTF-16', [...Buffer.from('{}', 'utf16le')]],
  ])('with %s, in front or instead of UTF-8, are refused', (_what, bytes) => {
    expect(() => parseJsonObject(Uint8Array.from(bytes))).toThrow(SyntaxError);
  });

  test.each([
    ['a lone continuation byte', [0x80]],
    ['an overlong form', [0xc0, 0xaf]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
    ['a code point beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
    ['a cut off sequence', [0xe2, 0x82]],
    ['Latin-1', [0xe4]],
  ])('with %s, inside of a text, are refused as not UTF-8', (_what, bytes) => {
    const body = Buffer.concat([bytesOf('{"a":"'), Buffer.from(bytes), bytesOf('"}')]);
    expect(() => parseJsonObject(body)).toThrow(/^not valid UTF-8$/);
  });

  test('nested deeper than the limit, by objects or arrays, are refused', () => {
    const refused = new SyntaxError(`nested deeper than ${MAX_DEPTH} levels`);
    expect(() => parseJsonText(nested(MAX_DEPTH + 1))).toThrow(refused);
    expect(() => parseJsonText(`{"a":${'['.repeat(MAX_DEPTH)}${']'.repeat(MAX_DEPTH)}}`)).toThrow(refused);
  });

  test('nested as deep as the largest body can be, at 16 MiB, are refused and overflow no stack', () => {
    const depth = 2 ** 22;
    expect(() => parseJsonText(`{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`)).toThrow(SyntaxError);
  });

  test('are refused, whatever they are, with a SyntaxError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          parseJsonObject(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(SyntaxError);
        }
      }),
    );
  });
});

describe('a long text', () => {
  test('full of escapes, as large as the largest body can be, is read and overflows no stack', () => {
    const escapes = '\\n'.repeat(2 ** 22);
    expect(parseJsonText(`{"a":"${escapes}"}`).a).toHaveLength(2 ** 22);
  });
});
