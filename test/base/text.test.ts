import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { visibleLine, visibleLog } from '../../src/base/text.ts';
import { HOSTILE, hostileIn } from '../support/hostile-text.ts';

test.each([
  [
    'stays as it is, if it can be seen',
    'media é ß 日本語 עברית ไทย 😀 "\\n"',
    'media é ß 日本語 עברית ไทย 😀 "\\n"',
  ],
  [
    'has escapes of JSON, if it cannot be seen',
    'a\u001b[31m\u009b\u202eb\u2066\u2028\ufeff\u{e0041}\t\r\n\ud83d',
    'a\\u001b[31m\\u009b\\u202eb\\u2066\\u2028\\ufeff\\udb40\\udc41\\t\\r\\n\\ud83d',
  ],
])('a line of others %s', (_what, given, shown) => {
  expect(visibleLine(given)).toBe(shown);
});

test('a log line is JSON that means its arguments, when they are hostile, in whatever member, message or child', () => {
  const lines: string[] = [];
  const log = pino({ ...visibleLog }, { write: (line: string) => void lines.push(line) });
  const hostile = `"\\ \n${HOSTILE}`;
  log.child({ bound: hostile }).warn({ path: hostile }, hostile);
  expect(lines).toHaveLength(1);
  expect(hostileIn(lines[0] ?? '')).toEqual([]);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ path: hostile, bound: hostile, msg: hostile });
});
