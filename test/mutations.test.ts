import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { mutations } from './support/mutations.ts';

/** `npm run test:mutations` breaks each rule, which takes minutes; here only whether it still can. */
test.each(mutations)('can be broken: $rule', ({ file, original, mutant, suite }) => {
  expect(readFileSync(file, 'utf8').split(original)).toHaveLength(2);
  expect(mutant).not.toBe(original);
  expect(existsSync(suite)).toBe(true);
});
