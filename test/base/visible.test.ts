import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { pino } from 'pino';
import { visible, visibleLine, visibleLog } from '../../src/base/visible.ts';
import { beginning } from '../../src/cli/print.ts';
import { table } from '../../src/cli/table.ts';
import { anyCharacter } from '../support/any-character.ts';
import { everyHostile, HOSTILE, hostileIn } from '../support/hostile-text.ts';
import { jsonObject } from '../support/json-values.ts';
import { runs } from '../support/sizes.ts';

/** Any text, with many of the characters in question, halves of surrogate pairs among them. */
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...HOSTILE, '\n', '\r', '\t', '\ud83d', '\udd12', '\\', '"'),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }),
  ),
  maxLength: 20,
});

describe('a text that is printed', () => {
  test('has nothing in it that a terminal obeys or hides, whatever it was, but the ends of its lines', () => {
    fc.assert(
      fc.property(text, (given) => {
        expect(hostileIn(visible(given))).toEqual([]);
        expect(hostileIn(visibleLine(given))).toEqual([]);
        expect(visibleLine(given)).not.toContain('\n');
        expect(visible(given).split('\n')).toHaveLength(given.split('\n').length);
      }),
      { numRuns: runs(500) },
    );
    expect([...everyHostile()].filter((one) => hostileIn(visible(one)).length > 0)).toEqual([]);
  });

  test('stays as it is, when all of it can be seen, whatever its script', () => {
    for (const given of [
      'media_available é ß 日本語 עברית العربية ไทย 😀',
      '{"a": "b\\n"}',
      '~ !"#$%&\'()*+,-./',
    ]) {
      expect(visible(given)).toBe(given);
      expect(visibleLine(given)).toBe(given);
    }
    expect(visible('a\nb')).toBe('a\nb');
  });

  test('shows what is in it, when it cannot be seen, as JSON writes it', () => {
    const given = 'a\u001b[31m\u009b\u202eb\u2066\u2028\ufeff\u{e0041}\t\r\n';
    expect(visibleLine(given)).toBe(
      'a\\u001b[31m\\u009b\\u202eb\\u2066\\u2028\\ufeff\\udb40\\udc41\\t\\r\\n',
    );
  });

  test('means the same, when it is JSON, on one line or on many', () => {
    fc.assert(
      fc.property(fc.oneof(jsonObject, fc.array(text), fc.dictionary(text, text)), (value) => {
        for (const json of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
          expect(JSON.parse(visible(json))).toEqual(JSON.parse(json));
          expect(hostileIn(visible(json))).toEqual([]);
          expect(visible(visible(json))).toBe(visible(json));
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test('is no longer than its bound and cut between two of its characters, whatever it was, and is whole if that fits', () => {
    fc.assert(
      fc.property(text, fc.integer({ min: 10, max: 60 }), (given, longest) => {
        const whole = visibleLine(given);
        const shown = beginning(given, longest);
        expect(shown.length).toBeLessThanOrEqual(longest);
        if (whole.length <= longest) return expect(shown).toBe(whole);
        const beginnings = [...given].map((_, count, all) => visibleLine(all.slice(0, count).join('')));
        expect(beginnings.map((one) => `${one} ...`)).toContain(shown);
      }),
      { numRuns: runs(500) },
    );
  });

  test('keeps to its cell of a table, when it has lines and escapes of its own, as wide as it is shown', () => {
    const printed = table(
      ['name', 'next'],
      [
        [`a\n${HOSTILE}`, 'b'],
        ['c', 'd\u202e'],
      ],
    );
    expect(hostileIn(printed)).toEqual([]);
    const lines = printed.trimEnd().split('\n');
    expect(lines).toHaveLength(4);
    expect(lines[2]?.endsWith('  b')).toBe(true);
    expect(lines[3]?.indexOf('d')).toBe(lines[2]?.lastIndexOf('b'));
  });
});

test('a log line is JSON that holds its arguments, when they are hostile, in whatever member, message or child', () => {
  const lines: string[] = [];
  const log = pino({ ...visibleLog }, { write: (line: string) => void lines.push(line) });
  fc.assert(
    fc.property(text, text, (member, message) => {
      lines.length = 0;
      log.child({ bound: member }).warn({ path: member, reason: member }, message);
      expect(lines).toHaveLength(1);
      expect(hostileIn(lines[0] ?? '')).toEqual([]);
      const wellFormed = message.toWellFormed();
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({ path: member, reason: member, bound: member });
      expect(JSON.parse(lines[0] ?? '').msg.toWellFormed()).toBe(wellFormed);
    }),
    { numRuns: runs(500) },
  );
});
