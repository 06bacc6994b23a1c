import { expect, test } from '@jest/globals';
import { loadedBy } from '../../support/loaded-files.ts';

test('the store in memory loads no package, no driver of a database and no threads', () => {
  const loaded = loadedBy('src/store/memory/memory-store.ts');
  expect(loaded).toContain('src/store/semantics/claiming.ts');
  const foreign = loaded.filter((file) => !/^(src\/(base|store)\/|node:)/.test(file));
  expect(foreign).toEqual([]);
  expect(loaded.filter((file) => /sqlite|worker_threads|fs$/.test(file))).toEqual([]);
});
