import { describe, expect, test } from '@jest/globals';
import { canonicalJson, firstDifference, parseBody } from '../../src/notification/json.ts';

const nested = (levels: number) => Buffer.from(`${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`);

describe('a body', () => {
  test('is its text and its value, when it is a JSON object in UTF-8', () => {
    expect(parseBody(Buffer.from(' {"a": "\u00e9\u{1f600}", "__proto__": 1} '))).toEqual({
      text: ' {"a": "\u00e9\u{1f600}", "__proto__": 1} ',
      value: JSON.parse('{"a": "\u00e9\u{1f600}", "__proto__": 1}'),
    });
    expect(parseBody(nested(64)).text).toMatch(/^{/);
  });

  test.each<[string, Uint8Array]>([
    ['empty', Buffer.alloc(0)],
    ['an array', Buffer.from('[]')],
    ['null', Buffer.from('null')],
    ['a text', Buffer.from('"a"')],
    ['cut off', Buffer.from('{"secret":')],
    ['more than one', Buffer.from('{}{}')],
    ['behind a byte order mark', Buffer.from('\ufeff{}')],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
    ['half a surrogate pair in UTF-8', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x3a, 0x31, 0x7d])],
  ])('is refused, when it is %s, in words that quote nothing of it', (_what, bytes) => {
    expect(() => parseBody(bytes)).toThrow(new SyntaxError('not a JSON object in UTF-8'));
  });

  test.each([65, 100_000])('is refused, when it is nested %i levels deep', (levels) => {
    expect(() => parseBody(nested(levels))).toThrow(new SyntaxError('nested deeper than 64 levels'));
  });
});

describe('the first difference', () => {
  test.each<[string, string, string | undefined]>([
    ['{"a":1,"b":[1,{"c":null}]}', '{"b":[1,{"c":null}],"a":1}', undefined],
    ['{"a":1}', '{"a":1.0}', undefined],
    ['{"a":1}', '{"a":2}', '/a'],
    ['{"a":1}', '{"a":"1"}', '/a'],
    ['{"a":null}', '{}', '/a'],
    ['{}', '{"a":null}', '/a'],
    ['{"a":{}}', '{"a":[]}', '/a'],
    ['{"a":null}', '{"a":{}}', '/a'],
    ['{"a":[1,2]}', '{"a":[2,1]}', '/a/0'],
    ['{"a":[1]}', '{"a":[1,2]}', '/a/1'],
    ['{"a/b":{"~":1}}', '{"a/b":{"~":2}}', '/a~1b/~0'],
    ['{"__proto__":1}', '{}', '/__proto__'],
    ['{"toString":1}', '{}', '/toString'],
    ['{}', '[]', ''],
    ['"x"', '{}', ''],
  ])('of %s and %s is %p', (left, right, path) => {
    expect(firstDifference(JSON.parse(left), JSON.parse(right))).toBe(path);
  });
});

test('canonical JSON has its members sorted, at every level, and no spaces', () => {
  const value = JSON.parse(
    '{ "b": [ { "z": 1, "a": "\\u00e9\\n" } ], "a": 1e3, "\\u20ac": null, "B": true }',
  );
  expect(canonicalJson(value)).toBe('{"B":true,"a":1000,"b":[{"a":"\u00e9\\n","z":1}],"\u20ac":null}');
});
