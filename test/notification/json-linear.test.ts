import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { outlineOf, parseJsonObject, parseJsonText } from '../../src/notification/json.ts';
import { anyCharacter } from '../support/any-character.ts';
import { jsonObject, spaced } from '../support/json-values.ts';
import { simpleJsonText } from '../support/simple-json.ts';
import { runs } from '../support/sizes.ts';

/** The value that a reader finds, or that it refuses, and nothing of why. */
function verdict(read: (text: string) => unknown, text: string): unknown {
  try {
    return { value: read(text) };
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
    return 'refused';
  }
}

const digits = (most: number) => fc.string({ unit: fc.constantFrom(...'0000123456789'), maxLength: most });
/** Numerals of every form, most of them at an edge: of 15 to 18 digits, of many zeros, near the largest and smallest double. */
const numeral = fc.oneof(
  fc
    .record({
      sign: fc.constantFrom('', '-'),
      whole: fc.oneof(
        fc.constant('0'),
        digits(20).map((text) => `1${text}`),
        digits(3),
      ),
      fraction: fc.oneof(
        fc.constant(''),
        digits(20).map((text) => `.${text}`),
        fc.constant(`.${'0'.repeat(320)}1`),
      ),
      exponent: fc.oneof(
        fc.constant(''),
        fc.integer({ min: -340, max: 340 }).map((exponent) => `e${exponent}`),
        fc.constantFrom('E+5', 'e+', 'e', 'E-05', 'e99999999999999999999', 'e-99999999999999999999'),
      ),
    })
    .map(({ sign, whole, fraction, exponent }) => `${sign}${whole}${fraction}${exponent}`),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .double({ noNaN: true, noDefaultInfinity: true, max: 1e-300, min: 0 })
    .map((value) => value.toExponential()),
  fc.bigInt({ min: 0n, max: 10n ** 25n }).map(String),
);

describe('a text that is gone through once', () => {
  test('is taken and refused as by the plain reader, whatever number stands in it', () => {
    fc.assert(
      fc.property(fc.array(numeral, { minLength: 1, maxLength: 4 }), (numerals) => {
        const text = `{"n":[${numerals.join(', ')}]}`;
        expect(verdict(parseJsonText, text)).toEqual(verdict(simpleJsonText, text));
      }),
      { numRuns: runs(3000) },
    );
  });

  test('is taken and refused as by the plain reader, when pieces of JSON are put together at random', () => {
    const piece = fc.constantFrom(
      ...'{}[]:,"\\ \n\t01e-+.',
      ...[
        'true',
        'false',
        'null',
        '"a"',
        '"a":',
        '"\\u0061":',
        '"\\u00',
        '\\"',
        '\u0001',
        '\u00e9',
        '{"a":1',
        '[1,',
      ],
    );
    const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
    const within = text.map((inner) => `{"a":${inner}}`);
    fc.assert(
      fc.property(fc.oneof(text, within), (given) => {
        expect(verdict(parseJsonText, given)).toEqual(verdict(simpleJsonText, given));
      }),
      { numRuns: runs(5000) },
    );
  });

  test('is taken and refused as by the plain reader, when one character of a whole object is another, more or gone', () => {
    const change = fc.record({
      value: jsonObject,
      place: fc.double({ min: 0, max: 1, noNaN: true }),
      gone: fc.integer({ min: 0, max: 2 }),
      more: fc.constantFrom(
        '',
        '"',
        '\\',
        ',',
        ':',
        '{',
        '}',
        '[',
        ']',
        '0',
        '.',
        'e',
        '-',
        ' ',
        'u',
        '\u0000',
        '\u2028',
      ),
    });
    fc.assert(
      fc.property(change, ({ value, place, gone, more }) => {
        const text = spaced(value);
        const at = Math.floor(place * text.length);
        const changed = (text.slice(0, at) + more + text.slice(at + gone)).toWellFormed();
        expect(verdict(parseJsonText, changed)).toEqual(verdict(simpleJsonText, changed));
      }),
      { numRuns: runs(3000) },
    );
  });

  test('is taken and refused as by the plain reader, when one byte of a long text is another, wherever it lies in memory', () => {
    const change = fc.record({
      length: fc.integer({ min: 20, max: 120 }),
      place: fc.double({ min: 0, max: 1, noNaN: true }),
      put: fc.constantFrom(
        '"',
        '\\',
        '\\"',
        '\\u00e9',
        '\\u00eg',
        '\u0000',
        '\u001f',
        '\n',
        ' ',
        '!',
        '#',
        '[',
        ']',
        '\u007f',
      ),
      fill: fc.constantFrom('x', ' ', '#', '!', '\u00e9', '\u20ac', '\u{1f600}', '\u007f'),
      shift: fc.integer({ min: 0, max: 7 }),
      isName: fc.boolean(),
    });
    fc.assert(
      fc.property(change, ({ length, place, put, fill, shift, isName }) => {
        const before = fill.repeat(Math.floor(place * length));
        const inner = `"${before}${put}${fill.repeat(length)}"`;
        const text = isName ? `{${inner}:1}` : `{"a":${inner}}`;
        const bytes = Buffer.from(`${'"'.repeat(shift)}${text}`).subarray(shift);
        expect(verdict(() => parseJsonObject(bytes).value, text)).toEqual(verdict(simpleJsonText, text));
      }),
      { numRuns: runs(5000) },
    );
  });

  test('tells the event and the webhook that it names, by whatever escapes and wherever they stand, as its value has them', () => {
    const name = fc.constantFrom(
      'event',
      'webhook_id',
      '\\u0065vent',
      'webhook\\u005fid',
      'webhook\\u005Fid',
      'Event',
      'event\\n',
    );
    const value = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 300 }).map((text) => JSON.stringify(text)),
      fc.constantFrom('1', 'null', '["event"]', '{"event":"x","webhook_id":"y"}', '""', '"\\ud800\\u0041"'),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(name, value), { maxLength: 4 }), (members) => {
        const text = ` {${members.map(([member, inner]) => ` "${member}" : ${inner} `).join(',')}} `;
        const parsed = JSON.parse(text);
        const outline = outlineOf(Buffer.from(text));
        const start = (member: unknown) =>
          typeof member === 'string' ? member.toWellFormed().slice(0, 200) : '';
        expect(outline.event.toWellFormed().slice(0, 200)).toBe(start(parsed.event));
        expect(outline.webhookId.toWellFormed().slice(0, 200)).toBe(start(parsed.webhook_id));
      }),
      { numRuns: runs(2000) },
    );
  });

  test.each([
    ['of zeros with a one at each end', (size: number) => `1${'0'.repeat(size)}1`, 'refused'],
    ['of a one and zeros', (size: number) => `1.${'0'.repeat(size)}`, { value: { n: 1 } }],
    [
      'of zeros and a one, raised',
      (size: number) => `0.${'0'.repeat(size)}1e${size + 1}`,
      { value: { n: 1 } },
    ],
    ['of zeros for an exponent', (size: number) => `1e${'0'.repeat(size)}1`, { value: { n: 10 } }],
  ])('is read at once, at a million characters, with a numeral %s', (_what, build, expected) => {
    // With a look back over the zeros for each of them, this would take a quarter of an hour.
    expect(verdict(parseJsonText, `{"n":${build(1_000_000)}}`)).toEqual(expected);
  });
});
