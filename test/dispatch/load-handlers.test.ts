import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { loadHandlers } from '../../src/dispatch/load-handlers.ts';
import { spawnCli } from '../support/run-cli.ts';
import { some } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Loads a module with this text. */
function load(text: string) {
  const file = join(directory, 'mine.mjs');
  writeFileSync(file, text);
  return loadHandlers({ HANDLERS: file });
}

test('handlers come from the module that HANDLERS names, as they are', async () => {
  const handlers = await load(
    'export const handlers = { media_created() { return "mine"; }, unknown() {} };',
  );
  expect(Object.keys(handlers)).toEqual(['media_created', 'unknown']);
});

test('a relative path begins at the folder of the project, wherever the command is typed', async () => {
  const handlers = await loadHandlers({ HANDLERS: 'src/demo/handlers.ts' });
  expect(Object.keys(handlers)).toHaveLength(13);
  const run = await spawnCli(['handlers', '--json'], {
    cwd: directory,
    env: { HANDLERS: './test/scenarios/handlers/none.ts' },
  });
  expect(run.code).toBe(0);
  expect(JSON.parse(run.stdout)).toEqual(
    expect.arrayContaining([expect.objectContaining({ kind: 'media_created', handler: false })]),
  );
});

test.each([
  ['export const handler = {};', 'exports no object `handlers`'],
  ['export const handlers = () => {};', 'exports no object `handlers`'],
  ['export const handlers = null;', 'exports no object `handlers`'],
  [
    'export const handlers = { media_avaliable() {} };',
    'has a handler for media_avaliable, but the kinds are ',
  ],
  [
    'export const handlers = { media_available: true };',
    'has a handler for media_available that is no function',
  ],
  ['export const handlers = {', 'does not load'],
])('what is not usable is refused with its file and the reason: %s', async (text, reason) => {
  await expect(load(text)).rejects.toThrow(
    expect.objectContaining({
      code: 'HANDLERS_UNUSABLE',
      message: expect.stringContaining(`${join(directory, 'mine.mjs')} ${reason}`),
    }),
  );
});

test('a module that is not there is named, when HANDLERS leads to none', async () => {
  const HANDLERS = join(directory, 'none.ts');
  await expect(loadHandlers({ HANDLERS })).rejects.toThrow(`${HANDLERS} does not load:`);
});

test.each(
  some<[string, RegExp]>(1, [
    [
      'none.ts',
      /^hookkit: none\.ts does not load:\n.*Cannot find module '.*none\.ts' \(HANDLERS names it\)\n$/,
    ],
    [
      'src/handlers',
      /^hookkit: src\/handlers does not load:\n.*Directory import .* \(HANDLERS names it\)\n$/,
    ],
    ['README.md', /^hookkit: README\.md does not load:\n.*Unknown file extension "\.md".*\n$/],
  ]),
)('a command that needs handlers says what is wrong, when HANDLERS is %s', async (HANDLERS, told) => {
  const run = await spawnCli(['handlers'], { cwd: directory, env: { HANDLERS } });
  expect(run.code).toBe(1);
  expect(run.stderr).toMatch(told);
});
