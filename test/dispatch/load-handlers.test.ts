import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { loadApp } from '../../src/dispatch/load-handlers.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { copyProgram, ofCopies } from '../support/program-copy.ts';
import { callCli, startCli } from '../support/run-cli.ts';

const fileOf = directoryForEachTest();

const tell = () => {};

/** Loads a module that exports this. */
function load(text: string) {
  const file = fileOf('mine.mjs');
  writeFileSync(file, `export const ${text}`);
  return loadApp({ HANDLERS: file }, tell);
}

test('a relative path begins at the folder of the project, wherever the command is typed', async () => {
  const { handlers } = await loadApp({ HANDLERS: 'src/demo/handlers.ts' }, tell);
  expect(Object.keys(handlers)).toHaveLength(13);
  const env = { HANDLERS: './test/scenarios/handlers/slow.ts' };
  const { stdout } = await callCli(['handlers', '--json'], { cwd: fileOf(), env });
  expect(JSON.parse(stdout)[0]).toMatchObject({ kind: 'media_created', handler: false });
});

test.each([
  ['handler = {};', 'has no object `handlers`'],
  ['handlers = { media_avaliable() {} };', 'has a handler for media_avaliable, but the kinds are '],
  ['handlers = { media_available: true };', 'has a handler for media_available that is no function'],
  ['handlers = {', 'does not load'],
  ['app = { handlers: {} }, handlers = {};', 'has both `app` and `handlers`'],
  ['app = { route() {}, handlers: {} };', 'has an app with a member route, but its members are '],
  ['app = { handlers: {}, settings: { URL: 1 } };', 'has an app whose settings are no zod object'],
  ['app = { handlers: {}, limits: { unknown: 0 } };', 'has an app with a limit of 0 for unknown: it must be'],
  [
    "app = { handlers: {}, limits: { unknown: 2, a: { kinds: ['unknown'], most: 2 } } };",
    'has an app with two limits for unknown',
  ],
  ...[
    ['digest: { run() {} }', 'digest without a time'],
    ["digest: { every: '10ms', run() {} }", 'digest with no time: '],
    ["digest: { cron: '0 6 * * *', zone: 'Berlin', run() {} }", 'digest with no time: '],
    ["digest: { cron: '0 0 30 2 *', run() {} }", 'digest that never comes'],
  ].map(([one, reason]) => [`app = { handlers: {}, schedule: { ${one} } };`, `has a schedule ${reason}`]),
])('what is not usable is refused with its file and the reason: %s', async (text, reason) => {
  await expect(load(text)).rejects.toThrow(
    expect.objectContaining({
      code: 'HANDLERS_UNUSABLE',
      message: expect.stringContaining(`${fileOf('mine.mjs')} ${reason}`),
    }),
  );
});

test('handlers are those of src/handlers/index.ts, else of src/handlers.ts, when HANDLERS is not set', () => {
  const copy = copyProgram();
  const run = () =>
    execFileSync(process.execPath, [join(copy, 'bin/hookkit.js'), 'handlers', '--json'], options);
  const options = { cwd: fileOf(), encoding: 'utf8', env: { PATH: process.env.PATH, ...ofCopies } } as const;
  const taken = () =>
    JSON.parse(run()).flatMap((row: { kind: string; handler: boolean }) => (row.handler ? [row.kind] : []));
  try {
    writeFileSync(join(copy, 'src/handlers.ts'), 'export const handlers = { unknown() {} };');
    expect(taken()).toEqual(['track_created']);
    rmSync(join(copy, 'src/handlers'), { recursive: true });
    expect(taken()).toEqual(['unknown']);
    rmSync(join(copy, 'src/handlers.ts'));
    expect(run).toThrow(/there is no file \S+\/handlers\/index\.ts or \S+\/src\/handlers\.ts\. /);
  } finally {
    rmSync(copy, { recursive: true });
  }
});

test('a server says what it waits for, when the file of its handlers or its start does not end', async () => {
  const serve = async (name: string, text: string) => {
    const HANDLERS = fileOf(name);
    writeFileSync(HANDLERS, text);
    const DATABASE_URL = `sqlite:${fileOf(`${name}.db`)}`;
    const serving = startCli(['serve'], { env: { HANDLERS, PORT: '0', ADMIN_PORT: '0', DATABASE_URL } });
    await serving.says('still waiting');
    serving.kill('SIGKILL');
    await serving.ended;
    return serving.said();
  };
  const [file, start] = await Promise.all([
    serve('file.mjs', 'await new Promise(() => {});'),
    serve('app.mjs', 'export const app = { handlers: {}, start: () => new Promise(() => {}) };'),
  ]);
  expect(file).toMatch(/"msg":"after 5 s, still waiting for \S+file\.mjs to load"/);
  expect(start).toMatch(/"msg":"after 5 s, still waiting for the start of the app"/);
});

test.each(['none.ts', 'src/handlers'])('handlers of no file, as %s, are refused', async (HANDLERS) => {
  const told =
    /^there is no file \S+\/(none.ts|handlers)\. Name the module .* begins at \S+\. npx hookkit init/;
  await expect(loadApp({ HANDLERS }, tell)).rejects.toThrow(told);
});
