import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { mutations } from './support/mutations.ts';

const sources = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && path !== join('support', 'mutations.ts'))
  .map((path) => readFileSync(join('test', path), 'utf8'));

/** `npm run test:mutations` breaks each rule, which takes minutes; here only whether it still can. */
describe('what the rules are broken with', () => {
  test.each(mutations)('fits the source: $rule', ({ file, original, mutant, suite, tests = '' }) => {
    expect(readFileSync(file, 'utf8').split(original)).toHaveLength(2);
    expect(mutant).not.toBe(original);
    expect(existsSync(suite)).toBe(true);
    // Some suites run tests that others share, so the name may stand in any file.
    expect(sources.some((source) => source.includes(tests))).toBe(true);
  });
});
