import { execFileSync, spawnSync } from 'node:child_process';
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
  const loaded = loadedBy('src/index.ts');
  expect(loaded.length).toBeLessThan(15);
  expect(loaded.filter((url) => url.includes('/node_modules/'))).toEqual([]);
  expect(loadedBy('src/service.ts')).toContainEqual(expect.stringContaining('/node_modules/express/'));
});

test('the door for handlers has what handlers are made of', () => {
  expect(Object.keys(door).toSorted()).toEqual([
    ...['KitError', 'ProviderError', 'combineHandlers', 'defineApp', 'defineHandlers', 'fail', 'kindNames'],
    ...['retry', 'skip'],
  ]);
});

/** Says which packages and rooms a command has loaded, at its end. */
const HOOK = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module';
  registerHooks({ load: (url, context, next) => (process.stderr.write(url + '\\n'), next(url, context)) });`)}`;

test('a command loads its own module alone: no Express, HTTP client, mock or inspector, to look at a table', () => {
  const args = ['--import', HOOK, 'bin/hookkit.js', 'events', 'list', '--help'];
  const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  expect(stderr).toContain('/src/cli/events/list-and-show.ts');
  expect(stderr).not.toMatch(
    /node_modules\/(express|jsonwebtoken|prom-client)\/|src\/(base\/poster|mock|inspector|receiver|service|cli\/(serve|mock|dev))/,
  );
});
