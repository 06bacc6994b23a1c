import { expect, test } from '@jest/globals';
import { durationOf } from '../../src/base/duration.ts';

test.each([
  ['250ms', 250],
  ['6m', 360_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['0s', 0],
  ...['', '5', 's', '5 s', '-5s', '5w', '1e3s', '.5h', '36501d', '5s5m'].map(
    (text) => [text, undefined] as const,
  ),
])('"%s" as a length of time is %p milliseconds', (text, ms) => {
  expect(durationOf(text)).toBe(ms);
});
