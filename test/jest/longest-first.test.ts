import { existsSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { fullSizeOnly, isPassedOver } from './full-size-only.ts';
import { inOrder, LONGEST, WAITING } from './longest-first.ts';

const suite = (name: string, duration?: number) => ({ path: `/srv/kit/test/${name}.test.ts`, duration });

test('every suite that has a place of its own is there, so that a renamed one is not forgotten', () => {
  const named = [...LONGEST, ...WAITING];
  expect(named.filter((name) => !existsSync(new URL(`../${name}.test.ts`, import.meta.url)))).toEqual([]);
});

test('every suite that npm test passes over is there, and runs where it is named, and at full size', () => {
  expect([...fullSizeOnly].filter((path) => !existsSync(path))).toEqual([]);
  const [one = ''] = fullSizeOnly;
  const all = { testPathPatterns: { patterns: [] } };
  expect(isPassedOver(one, all)).toBe(process.env.TEST_SIZE !== 'full');
  expect(isPassedOver(import.meta.filename, all)).toBe(false);
  expect(isPassedOver(one, { testPathPatterns: { patterns: ['test/base'] } })).toBe(false);
  expect(isPassedOver(one, { ...all, testNamePattern: 'a test' })).toBe(false);
});

test('suites with most work begin, when no run is known, and go by what they took, when one is', () => {
  const [most = '', second = ''] = LONGEST;
  const unknown = ['a', second, 'b', most].map((name) => suite(name));
  expect(inOrder(unknown)).toEqual([most, second, 'a', 'b'].map((name) => suite(name)));
  const known = [suite('a', 9), suite(second, 5), suite(most, 1)];
  expect(inOrder(known)).toEqual(known);
});

test('suites that wait are apart from each other, whether a run is known or not', () => {
  const [longest = '', second = ''] = WAITING;
  for (const duration of [undefined, 1]) {
    const working = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => suite(name, duration));
    const [a, b, c, ...rest] = working;
    const waiting = [suite(longest, duration), suite(second, duration)] as const;
    expect(inOrder([waiting[1], ...working, waiting[0]])).toEqual([waiting[0], a, b, c, waiting[1], ...rest]);
  }
});

test('no suite is lost, when all of them wait', () => {
  const waiting = WAITING.map((name) => suite(name));
  expect(inOrder(waiting.toReversed())).toEqual(waiting);
});
