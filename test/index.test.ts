import { execFileSync } from 'node:child_process';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import * as door from '../src/index.ts';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Prints every file and package that a process of its own loads for a module. */
const LOADED = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
await import(process.argv[1]);
process.stdout.write(JSON.stringify(loaded));`;

function loadedBy(file: string): string[] {
  const args = ['--input-type=module', '--eval', LOADED, new URL(`../${file}`, import.meta.url).href];
  const urls: string[] = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
  return urls.map((url) => (url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url)).toSorted();
}

test('the door for handlers loads its few files and no package, so no Express and no SQLite', () => {
  expect(loadedBy('src/index.ts')).toEqual([
    'node:util',
    'src/base/cut.ts',
    'src/base/errors.ts',
    'src/base/thrown.ts',
    'src/dispatch/handler.ts',
    'src/dispatch/outcome.ts',
    'src/index.ts',
    'src/provider/provider-error.ts',
  ]);
  expect(loadedBy('src/service.ts')).toEqual(expect.arrayContaining([expect.stringMatching(/\/express\//)]));
});

test('the door for handlers has what handlers are made of', () => {
  expect(Object.keys(door).toSorted()).toEqual([
    'KitError',
    'ProviderError',
    'combineHandlers',
    'defineHandlers',
    'fail',
    'retry',
    'skip',
  ]);
});
