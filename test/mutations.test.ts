import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { mutations } from './support/mutations.ts';

/** `npm run test:mutations` breaks each rule, which takes minutes; here only whether it still can. */
describe('what the rules are broken with', () => {
  test.each(mutations)('fits the source: $rule', ({ file, original, mutant, suite }) => {
    expect(readFileSync(file, 'utf8').split(original)).toHaveLength(2);
    expect(mutant).not.toBe(original);
    expect(existsSync(suite)).toBe(true);
  });
});
