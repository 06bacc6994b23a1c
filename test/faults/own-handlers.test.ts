import { afterAll, expect, jest, test } from '@jest/globals';
import { type Clone, cloneWithOwnHandlers, isRepository } from '../support/clone.ts';

jest.setTimeout(1_800_000); // all tests, once more
if (!isRepository) process.stdout.write('skipped: no .git here, so there is nothing to clone\n');
const inRepository = isRepository ? test : test.skip;

let clone: Clone | undefined;
afterAll(() => clone?.dispose());

/** This one and the short one would clone the clone, and so on. */
const OTHERS = ['/node_modules/', '/test/faults/', '/test/fixtures/', '/test/own-handlers'];

inRepository("all tests pass and load nothing of src/handlers/, when it holds somebody's own", async () => {
  clone = cloneWithOwnHandlers();
  const ignore = OTHERS.flatMap((path) => ['--testPathIgnorePatterns', path]);
  const { code, output } = await clone.run('npm', 'test', '--', ...ignore);
  expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
  expect(clone.trace()).toBe('');
});
