import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { canonicalJson, firstDifference } from '../../src/notification/json.ts';
import { jsonObject, jsonValue, shuffled, spaced } from '../support/json-values.ts';
import { singleChange } from '../support/single-change.ts';
import { runs } from '../support/sizes.ts';

describe('the first difference of two JSON values', () => {
  test('is none, when one is the other with its members in another order', () => {
    fc.assert(
      fc.property(jsonObject, (value) => {
        expect(firstDifference(value, shuffled(value))).toBeUndefined();
        expect(firstDifference(value, JSON.parse(spaced(value)))).toBeUndefined();
      }),
    );
  });

  test('is where it was made, when one thing was changed, added or taken away, as a JSON Pointer', () => {
    fc.assert(
      fc.property(singleChange(jsonObject), ({ before, after, pointer }) => {
        expect(firstDifference(before, after)).toBe(pointer);
        expect(firstDifference(after, before)).toBe(pointer);
        expect(firstDifference(shuffled(before), after)).toBe(pointer);
      }),
      { numRuns: runs(500) },
    );
  });

  test('is there, for any two values, exactly when their canonical texts differ', () => {
    fc.assert(
      fc.property(jsonValue, jsonValue, (left, right) => {
        const alike = canonicalJson(left) === canonicalJson(right);
        expect(firstDifference(left, right) === undefined).toBe(alike);
      }),
    );
  });

  test.each([
    [{}, [], ''],
    [null, {}, ''],
    [1, '1', ''],
    [0, false, ''],
    [null, 0, ''],
    [{ a: 1 }, {}, '/a'],
    [{}, { a: undefined }, '/a'],
    [{ a: [1, 2] }, { a: [1] }, '/a/1'],
    [{ a: [1, 2] }, { a: [2, 1] }, '/a/0'],
    [{ a: { b: [{ c: 1 }] } }, { a: { b: [{ c: 2 }] } }, '/a/b/0/c'],
    [{ 'a/b': 1 }, { 'a/b': 2 }, '/a~1b'],
    [{ 'a~b': 1 }, { 'a~b': 2 }, '/a~0b'],
    [{ '~1': 1 }, { '~1': 2 }, '/~01'],
    [{ '': 1 }, { '': 2 }, '/'],
    [{ a: '\u00e4' }, { a: 'a\u0308' }, '/a'],
    [{ a: [] }, { a: { length: 0 } }, '/a'],
    [{ a: ['x'] }, { a: { 0: 'x' } }, '/a'],
  ])('of %j and %j, by RFC 6901, is %p', (left, right, pointer) => {
    expect(firstDifference(left, right)).toBe(pointer);
  });

  test.each(['__proto__', 'constructor', 'toString'])(
    'sees the member %s, that every object seems to have, only where it stands in the text',
    (name) => {
      const having = JSON.parse(`{"${name}":{}}`);
      expect(firstDifference(having, {})).toBe(`/${name}`);
      expect(firstDifference({}, having)).toBe(`/${name}`);
      expect(firstDifference(having, JSON.parse(`{"${name}":{"a":1}}`))).toBe(`/${name}/a`);
      expect(firstDifference(having, JSON.parse(`{"${name}":{}}`))).toBeUndefined();
    },
  );
});

describe('canonical JSON', () => {
  test('of any value, parsed again, is that value', () => {
    fc.assert(
      fc.property(jsonValue, (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(value);
      }),
    );
  });

  test('of any value, whatever the order of its members, is one text', () => {
    fc.assert(
      fc.property(jsonObject, (value) => {
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
      }),
    );
  });

  test('of the example for sorting, from RFC 8785, goes by UTF-16 code units', () => {
    const members = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };
    expect(canonicalJson(members)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
        '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  test.each([
    [
      '[333333333.3333333,1E30,4.50,2e-3,0.000000000000000000000000001]',
      '[333333333.3333333,1e+30,4.5,0.002,1e-27]',
    ],
    ['-0', '0'],
    ['"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/"', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'],
    ['{"b":[{"d":1,"c":{}}],"a":[ ]}', '{"a":[],"b":[{"c":{},"d":1}]}'],
    ['{"10":1,"9":2}', '{"10":1,"9":2}'],
    ['"\\ud83d"', '"\\ud83d"'],
  ])('of %s, by RFC 8785, is %s', (text, expected) => {
    expect(canonicalJson(JSON.parse(text))).toBe(expected);
  });
});
