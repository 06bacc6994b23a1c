import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { mutations } from './support/mutations.ts';

/** `npm run test:mutations` breaks each rule, which takes minutes; here only whether it still can. */
test.each(Object.entries(mutations))('can be broken: %s', (_, { file, original, mutant, suite }) => {
  expect(readFileSync(file, 'utf8').split(original)).toHaveLength(2);
  expect(mutant).not.toBe(original);
  expect(existsSync(suite)).toBe(true);
});
