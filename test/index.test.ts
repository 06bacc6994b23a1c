import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import * as door from '../src/index.ts';

/** Prints what a process of its own loads for a module. */
const LOADED = `
import { registerHooks } from 'node:module';
registerHooks({ load: (url, context, next) => (console.log(url), next(url, context)) });
await import(process.argv[1]);`;

function loadedBy(file: string): string[] {
  const args = ['--input-type=module', '--eval', LOADED, new URL(`../${file}`, import.meta.url).href];
  return execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split('\n');
}

test('the door for handlers loads some files of its own and no package, so no Express and no SQLite', () => {
  expect(loadedBy('src/index.ts').length).toBeLessThan(15);
  expect(loadedBy('src/index.ts').filter((url) => url.includes('/node_modules/'))).toEqual([]);
  expect(loadedBy('src/service.ts')).toContainEqual(expect.stringContaining('/node_modules/express/'));
});

test('the door for handlers has what handlers are made of', () => {
  expect(Object.keys(door).toSorted()).toEqual([
    ...['KitError', 'ProviderError', 'combineHandlers', 'defineApp', 'defineHandlers', 'fail', 'kindNames'],
    ...['retry', 'skip'],
  ]);
});
