import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Installation, install } from '../support/installation.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { copyProgram } from '../support/program-copy.ts';

let installation: Installation;
let copy: string;

beforeAll(async () => {
  installation = await install({ WEBHOOK_SECRET: SECRET });
  const service = await installation.serve();
  expect((await deliver(service.url, bodyOf(1))).status).toBe(200);
  await eventually('it is handled', async () => (await event()).status === 'handled');
  service.child.kill('SIGTERM');
  await service.exited;
  copy = copyProgram();
});

afterAll(async () => {
  await installation.dispose();
  rmSync(copy, { recursive: true });
});

/** The one that there is. */
const event = () => installation.json(['events', 'list']);

const run = (args: readonly string[]) => installation.spawnCli(args, { cli: join(copy, 'bin/hookkit.js') });

const states = [
  ['a mistake in the language', 'export const tracks = {\n', /tracks\.ts:\d+[\s\S]*SyntaxError/],
  ['TypeScript that Node does not strip', 'export enum Tracks { Captions }\n', /tracks\.ts:1[\s\S]*enum/],
  ['a module that is not there', "import './nowhere.ts';\n", /nowhere\.ts' imported from .*tracks\.ts/],
  [
    'an error while it loads',
    "export const tracks = {};\nthrow new Error('TRACKS_URL is not set');\n",
    /TRACKS_URL is not set\n.*tracks\.ts:2/,
  ],
] as const;

describe.each(states)('when a file of src/handlers/ has %s', (_state, text, told) => {
  beforeAll(() => writeFileSync(join(copy, 'src/handlers/tracks.ts'), text));

  test.each([
    ['--help'],
    ['serve', '--help'],
    ['events', 'list', '--json'],
    ['handlers', '--help'],
    ['events', 'export'],
  ])('hookkit %s %s does its work', async (...args) => {
    const { code, stdout, stderr } = await run(args);
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
    const { code, stderr } = await run(args);
    expect(stderr).toMatch(/^hookkit: src\/handlers\/ does not load:\n/m);
    expect(stderr).toMatch(told);
    expect(stderr).not.toMatch(/node:internal|load-handlers/);
    expect(code).toBe(1);
    expect(await event()).toMatchObject({ status: 'handled', replays: 0 });
  });
});
