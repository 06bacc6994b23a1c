import { expect, test } from '@jest/globals';
import * as door from '../src/index.ts';
import { loadedBy } from './support/loaded-files.ts';

test('the door for handlers loads its few files and no package, so no Express and no SQLite', () => {
  expect(loadedBy('src/index.ts')).toEqual([
    'node:util',
    'src/base/cut.ts',
    'src/base/errors.ts',
    'src/base/thrown.ts',
    'src/dispatch/app.ts',
    'src/dispatch/handler.ts',
    'src/dispatch/outcome.ts',
    'src/index.ts',
    'src/notification/kinds.ts',
    'src/provider/provider-error.ts',
  ]);
  expect(loadedBy('src/service.ts')).toEqual(expect.arrayContaining([expect.stringMatching(/\/express\//)]));
});

test('the door for handlers has what handlers are made of', () => {
  expect(Object.keys(door).toSorted()).toEqual([
    'KitError',
    'ProviderError',
    'combineHandlers',
    'defineApp',
    'defineHandlers',
    'fail',
    'kindNames',
    'retry',
    'skip',
  ]);
});
