import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, digestOf, firstDifference, parseBody } from '../../src/notification/json.ts';
import { jsonObject, jsonValue, shuffled } from '../support/json-values.ts';

const nested = (levels: number) => Buffer.from(`${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`);
const ofBytes = (...bytes: number[]) =>
  Buffer.concat([Buffer.from('{"'), Buffer.from(bytes), Buffer.from('":1}')]);

describe('a body', () => {
  test('is its text and its value, when it is a JSON object in UTF-8', () => {
    const text = ' {"a": "\u00e9\u{1f600}", "__proto__": 1} ';
    expect(parseBody(Buffer.from(text))).toEqual({ text, value: JSON.parse(text) });
    expect(parseBody(nested(64)).text).toMatch(/^{/);
  });

  test.each<[string, Uint8Array]>([
    ...['', '[]', 'null', '"a"', '{"secret":', '{}{}', '\ufeff{}'].map((text): [string, Buffer] => [
      JSON.stringify(text),
      Buffer.from(text),
    ]),
    ['not UTF-8', ofBytes(0xff)],
    ['half a surrogate pair in UTF-8', ofBytes(0xed, 0xa0, 0x80)],
  ])('is refused, when it is %s, in words that quote nothing of it', (_what, bytes) => {
    expect(() => parseBody(bytes)).toThrow(new SyntaxError('not a JSON object in UTF-8'));
  });

  test.each([65, 100_000])('is refused, when it is nested %i levels deep', (levels) => {
    expect(() => parseBody(nested(levels))).toThrow(new SyntaxError('nested deeper than 64 levels'));
  });
});

describe('the first difference', () => {
  test.each<[string, string, string | undefined]>([
    ['{"a":1,"b":[1,{"c":null}]}', '{"b":[1,{"c":null}],"a":1.0}', undefined],
    ['{"a":1}', '{"a":2}', '/a'],
    ['{"a":1}', '{"a":"1"}', '/a'],
    ['{}', '{"a":null}', '/a'],
    ['{"a":[1,2]}', '{"a":[2,1]}', '/a/0'],
    ['{"a/b":{"~":1}}', '{"a/b":{"~":2}}', '/a~1b/~0'],
    ['{"__proto__":1}', '{}', '/__proto__'],
    ['"x"', '{}', ''],
  ])('of %s and %s is %p', (left, right, path) => {
    expect(firstDifference(JSON.parse(left), JSON.parse(right))).toBe(path);
  });

  test('of any value and one with a single change is where it was changed', () => {
    fc.assert(
      fc.property(jsonObject, jsonValue, jsonValue, (any, one, other) => {
        const [before, after] = [one, other].map((deep) => ({ ...any, at: [1, { deep }] }));
        const difference = firstDifference(before, shuffled(after));
        if (isDeepStrictEqual(one, other)) expect(difference).toBeUndefined();
        else expect(difference).toMatch(/^\/at\/1\/deep/);
      }),
    );
  });
});

describe('the digest of a notification', () => {
  const hex = (body: object) => digestOf({ ...body }).toString('hex');

  // The canonical texts are written by hand; the hashes were also computed with another program (Python's hashlib).
  test.each([
    [
      '{"event":"channel_active","channel_id":"YijbmYHJ","webhook_id":"2yW4KmiG","site_id":"9KboGBFu","event_time":"2024-08-29T03:01:24+00:00"}',
      '{"channel_id":"YijbmYHJ","event":"channel_active","event_time":"2024-08-29T03:01:24+00:00","site_id":"9KboGBFu"}',
      '497cdea1d8cd86512fc3e1706ec7cff17740a1c016fdc3a98b9808f7767ee1f9',
    ],
    [
      '{"text":"\\u00e4 😀 \\"\\\\\\n","number":1.50e3,"webhook_id":{},"list":[3,1,2,{"b":false,"a":null}]}',
      '{"list":[3,1,2,{"a":null,"b":false}],"number":1500,"text":"ä 😀 \\"\\\\\\n"}',
      '98f71b963cf4afae3a797797f809433221a56f62359e139c3c204ef1cea55960',
    ],
  ])('of %s, by hand, is the SHA-256 of %s', (body, canonical, expected) => {
    const { webhook_id: _, ...event } = JSON.parse(body);
    expect([hex(JSON.parse(body)), canonicalJson(event)]).toEqual([expected, canonical]);
    expect(createHash('sha256').update(canonical, 'utf8').digest('hex')).toBe(expected);
  });

  test('of any body is the same with any webhook_id and order of members, and another with anything else changed', () => {
    fc.assert(
      fc.property(jsonObject, jsonValue, jsonValue, (event, one, other) => {
        const before = { ...event, at: [1, { deep: one }] };
        expect(hex({ ...(shuffled(before) as object), webhook_id: other })).toBe(
          hex({ ...before, webhook_id: one }),
        );
        const after = { ...event, at: [1, { deep: other }] };
        expect(hex(after) === hex(before)).toBe(isDeepStrictEqual(one, other));
      }),
    );
  });

  test('is the same of 0 and -0, which RFC 8785 both writes as 0, and they are no difference', () => {
    expect(hex(JSON.parse('{"number":-0}'))).toBe(hex({ number: 0 }));
    expect(firstDifference(JSON.parse('{"number":-0}'), { number: 0 })).toBeUndefined();
  });
});
