import { expect, test } from '@jest/globals';
import { durationOf } from '../../src/base/duration.ts';

test.each([
  ['250ms', 250],
  ['90s', 90_000],
  ['6m', 360_000],
  ['1.5h', 5_400_000],
  ['2d', 172_800_000],
  ['0s', 0],
])('%s is a length of time of %i ms', (text, ms) => {
  expect(durationOf(text)).toBe(ms);
});

test.each(['', '5', 's', '5 s', ' 5s', '-5s', '5w', '1e3s', '.5h', '5.h', '36501d', '5s5m'])(
  '"%s" is no length of time',
  (text) => {
    expect(durationOf(text)).toBeUndefined();
  },
);
