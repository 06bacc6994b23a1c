import { describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { logFormat } from '../../src/base/log.ts';
import { textOf } from '../../src/base/thrown.ts';
import { HOSTILE, hostileIn } from '../support/hostile-text.ts';

const ROOT = new URL('../../', import.meta.url).href;

/** An error whose stack lies in these places. */
function thrownAt(places: readonly string[], message = 'broken'): Error {
  const error = new Error(message);
  error.stack = [`Error: ${message}`, ...places.map((place) => `    at ${place}`)].join('\n');
  return error;
}

class QuotaExceeded extends Error {}
const refused = Object.assign(new Error('refused by ::1'), { code: 'ECONNREFUSED' });
const both = new AggregateError([new Error('by IPv6'), 'by IPv4'], 'no way');
const circle = new Error('one');
circle.cause = new Error('two', { cause: circle });

describe('the text of an error', () => {
  test.each<[string, unknown, string]>([
    ['the name of its class', new QuotaExceeded('for today'), 'QuotaExceeded: for today'],
    [
      'its causes with their codes',
      new TypeError('fetch failed', { cause: new Error('no answer', { cause: refused }) }),
      'TypeError: fetch failed: refused by ::1 caused by: Error: no answer caused by: Error [ECONNREFUSED]: refused by ::1',
    ],
    [
      'the errors of an AggregateError',
      new Error('outer', { cause: both }),
      'Error: outer: by IPv4 caused by: AggregateError: no way error 1: Error: by IPv6 error 2: by IPv4',
    ],
    ['an end, though causes go round in a circle', circle, 'Error: one: two caused by: Error: two'],
    ['the value for people, if it is no error', { answer: [503n] }, '{ answer: [ 503n ] }'],
  ])('has %s', (_what, thrown, heads) => {
    expect(
      textOf(thrown)
        .replaceAll(/\n( +at .*\n?)*/g, ' ')
        .trim(),
    ).toBe(heads);
  });
});

test('the stack of an error ends with the last line in a file of the user, and has none of the kit', () => {
  const [save, handler] = ['save (file:///srv/pages.ts:3:9)', 'media_created (file:///srv/pages.ts:7:5)'];
  const [once, run] = ['once', 'run-handler'].map((name) => `f (${ROOT}src/dispatch/${name}.ts:1:1)`);
  const asked = 'ask (file:///srv/node_modules/b.js:3:4)';
  const places = [asked, 'node:internal/a:1:2', save, `${once}`, handler, `${run}`, asked];
  expect(textOf(thrownAt(places))).toBe(['Error: broken', asked, save, handler].join('\n    at '));
  expect(textOf(thrownAt([`${run}`]))).toBe(`Error: broken\n    at ${run}`);
});

test('a log line is JSON that means its arguments, when they are hostile, in whatever member, message or child', () => {
  const lines: string[] = [];
  const log = pino(logFormat, { write: (line: string) => void lines.push(line) });
  const hostile = `"\\ \n${HOSTILE}`;
  log.child({ bound: hostile }).warn({ path: hostile }, hostile);
  expect(lines).toHaveLength(1);
  expect(hostileIn(lines[0] ?? '')).toEqual([]);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ path: hostile, bound: hostile, msg: hostile });
});
