import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Installation, install } from '../support/installation.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { copyProgram } from '../support/program-copy.ts';
import type { RunOptions } from '../support/run-cli.ts';
import { some } from '../support/sizes.ts';

type Program = NonNullable<RunOptions['program']>;

let installation: Installation;

beforeAll(async () => {
  installation = await install({ WEBHOOK_SECRET: SECRET });
  const service = await installation.serveHere();
  expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
  await eventually('it is handled', async () => (await event()).status === 'handled');
  await service.stop();
});

afterAll(async () => {
  await installation.dispose();
});

/** The one that there is. */
const event = () => installation.json(['events', 'list']);

const states = [
  ['a mistake in the language', 'export const tracks = {\n', /tracks\.ts:\d+[\s\S]*SyntaxError/],
  ['TypeScript that Node does not strip', 'export enum Tracks { Captions }\n', /tracks\.ts:1[\s\S]*enum/],
  [
    'an error while it loads',
    "export const tracks = {};\nthrow new Error('TRACKS_URL is not set');\n",
    /TRACKS_URL is not set\n.*tracks\.ts:2/,
  ],
  ['a module that is not there', "import './nowhere.ts';\n", /nowhere\.ts' imported from .*tracks\.ts/],
] as const;

describe.each(some(1, states))('when a file of src/handlers/ has %s', (state, text, told) => {
  // Each state has a program of its own: Node does not load a module again once it has failed.
  let copy: string;
  let program: Program;
  beforeAll(async () => {
    copy = copyProgram({ name: state.replaceAll(' ', '-') });
    writeFileSync(join(copy, 'src/handlers/tracks.ts'), text);
    program = (await import(pathToFileURL(join(copy, 'src/cli/main.ts')).href)).run;
  });
  afterAll(() => rmSync(copy, { recursive: true }));

  test.each([
    ['--help'],
    ['serve', '--help'],
    ['events', 'list', '--json'],
    ['handlers', '--help'],
    ['events', 'export'],
  ])('hookkit %s %s does its work', async (...args) => {
    const { code, stdout, stderr } = await installation.cli(args, { program });
    expect(stderr).toBe('');
    expect(stdout).not.toBe('');
    expect(code).toBe(0);
  });

  test.each([
    [['serve']],
    [['handlers']],
    [['handlers', 'try', '--kind', 'media_available', '--media', 'UUhbHm6C']],
    [['events', 'replay', '--all', '--run']],
  ])('hookkit %j says where and what, ends with 1, and has changed nothing', async (args) => {
    const { code, stderr } =
      args[0] === 'serve' || state === 'a mistake in the language' // what Node says of it, and not what runs the tests
        ? await installation.spawnCli(args, { cli: join(copy, 'bin/hookkit.js') })
        : await installation.cli(args, { program });
    expect(stderr).toMatch(/^hookkit: src\/handlers\/ does not load:\n/m);
    expect(stderr).toMatch(told);
    expect(stderr).not.toMatch(/node:internal|load-handlers/);
    expect(code).toBe(1);
    expect(await event()).toMatchObject({ status: 'handled', replays: 0 });
  });
});
