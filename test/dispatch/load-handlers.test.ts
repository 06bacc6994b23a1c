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
  ['handler = {};', 'must have either `handlers`, or an `app`'],
  ['app = { handlers: {} }, handlers = {};', 'must have either `handlers`, or an `app`'],
  ['handlers = {', 'does not load'],
  ['x = null; throw Object.create(null);', 'does not load:\n[Object: null prototype] {}'],
  ...[
    [
      'handlers = Promise.resolve({});',
      'handlers: handlers are functions, none of them a promise, for media_created, ',
    ],
    ['handlers = { media_avaliable() {} };', 'handlers: media_avaliable: handlers are functions'],
    ['handlers = { media_available: true };', 'handlers: media_available: must be a function'],
    ['app = { route() {}, handlers: {} };', 'Unrecognized key: "route"'],
    ['app = { handlers: {}, settings: { URL: 1 } };', 'settings: must be z.object({ ... })'],
    ['app = { handlers: {}, limits: { cms: 2 } };', 'limits: cms: kinds: 0: handlers are functions'],
    [
      "app = { handlers: {}, limits: { unknown: 2, a: { kinds: ['unknown'], most: 2 } } };",
      'limits: a kind has two limits',
    ],
    [
      'app = { handlers: {}, subscribers: { a: { handlers: { x() {} } } } };',
      'subscribers: a: handlers: x: ',
    ],
    [
      'app = { handlers: {}, subscribers: { all: { handlers: {} } } };',
      'subscribers: all: a name has 1 to 40',
    ],
  ].map(([module, mistake]) => [module, `is not usable:\n  ${mistake}`]),
  ...[
    ['digest: {}', 'digest: run: must be a function'],
    ['digest: { run() {} }', "digest: needs either cron: '0 6 * * *', or every: '1h'"],
    ["digest: { every: '10ms', run() {} }", 'digest: needs either'],
    ["digest: { cron: '0 6 * *', run() {} }", 'digest: CronPattern: '],
    ["digest: { cron: '0 0 30 2 *', run() {} }", 'digest: never comes'],
    ["Digest: { every: '1h', run() {} }", 'Digest: a name has'],
  ].map(([one, mistake]) => [
    `app = { handlers: {}, schedule: { ${one} } };`,
    `is not usable:\n  schedule: ${mistake}`,
  ]),
  ...[
    ['{}', 'expected: must be a function'],
    ["{ every: '10ms', expected() {} }", 'every: is a length of time of a second or more'],
    ['{ most: 1.5, expected() {} }', 'most: Invalid input'],
  ].map(([one, mistake]) => [
    `app = { handlers: {}, reconcile: ${one} };`,
    `is not usable:\n  reconcile: ${mistake}`,
  ]),
  [
    "app = { handlers: {}, reconcile: { expected() {} }, schedule: { reconcile: { every: '1h', run() {} } } };",
    'is not usable:\n  schedule: reconcile: `reconcile` of the app has this name',
  ],
])('what is not usable is refused with its file and the reason: %s', async (text = '', reason = '') => {
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
