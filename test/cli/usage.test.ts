import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { callCli, refusalIn, runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const directory = await temporaryDirectory();
writeFileSync(join(directory, 'other.env'), '\uFEFFPORT=eighty\nLOG_LEVEL=loud\n');
writeFileSync(join(directory, 'throws.ts'), "throw new Error('broken at load');\n");

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(args, { cwd: directory, env });
const runHere: typeof run = (args, env = {}) => callCli(args, { cwd: directory, env });

test('hookkit --help tells what there is, and ends with 0, whether handlers load or not', async () => {
  const { code, stdout, stderr } = await runHere(['--help'], { HANDLERS: join(directory, 'throws.ts') });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/serve.*demo.*dev.*mock.*events.*webhooks.*quarantine.*handlers.*state.*secrets/s);
});

/** Called wrongly, with what is said. */
const wrong: readonly (readonly [command: string, told: RegExp])[] = [
  ['nonsense', /unknown command 'nonsense'/],
  ['events replay --q EMPTY', /the value of q is empty/],
  ['events show nonsense', /It must be an id as/],
  ['events list --since 2026-02-30', /It must be a time: 2026-11-19/],
  ['events prune --older-than 30d --status dead', /dead events are not pruned/],
  ['events replay', /this would replay everything/],
  ['events dismiss --reason any', /give a filter, or --all/],
  ['events replay --all --to http://127.0.0.1:1/ --run', /'--to <url>' cannot be used with option '--run'/],
  ['webhooks create --name a --site b --all-events --url https://u:hidden@your.host/', /without a password/],
  ['move --from postgres://u:hidden@your.host/d --to sqlite:x.db', /its password goes into PGPASSWORD/],
];

test.each(wrong)(
  'hookkit %s is refused with 2, with what is wrong and no password',
  async (command, told) => {
    const args = command.split(' ').filter(Boolean);
    const { code, stdout, stderr } = await runHere(args.map((arg) => (arg === 'EMPTY' ? '' : arg)));
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(told);
    expect(stderr).not.toContain('hidden');
  },
);

test('a command ends by itself, when it has looked at a database or changed it, in a process of its own', async () => {
  const env = { DATABASE_URL: `sqlite:${join(directory, 'ends.db')}` };
  const commands = [
    'pause --reason any',
    'resume',
    'state show media:1',
    'quarantine list',
    'webhooks list --stored',
    'status',
  ];
  const imported = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: 'its-secret' });
  const runs = await Promise.all(commands.map((command) => run(command.split(' '), env)));
  expect([imported, ...runs].map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0, 1]);
});

const MISTAKE = /with \S+\/other\.env has 1 mistake:\n {2}PORT: "eighty"/;
test.each(['serve', 'status'])('mistakes in a file of settings end hookkit %s with 2', async (command) => {
  const args = [command, '--env-file=other.env'];
  const options = { cwd: directory, env: { LOG_LEVEL: 'silent' } };
  const shown = { code: 2, stdout: '', stderr: expect.stringMatching(MISTAKE) };
  expect(await callCli(args, { ...options, isTTY: true })).toEqual(shown);
  const hidden = await callCli(args, options);
  if (command === 'status') return expect(hidden).toEqual(shown);
  expect(hidden).toMatchObject({ code: 2, stderr: '' });
  expect(refusalIn(hidden)).toMatch(MISTAKE);
});

test('--dev means the database of dev, whatever DATABASE_URL says', async () => {
  const env = { DATABASE_URL: 'sqlite:./receiver.db', DEV_DATABASE_URL: 'sqlite:./own.db' };
  expect((await run(['events', 'list'], env)).stderr).toContain('./receiver.db');
  expect((await run(['events', 'list', '--dev'], env)).stderr).toContain('./own.db');
});

test.each(['serve', 'dev --restarted'])('handlers that do not load end %s with 1', async (command) => {
  const ended = await run(command.split(' '), { HANDLERS: join(directory, 'throws.ts') });
  expect(ended.code).toBe(1);
  expect(refusalIn(ended)).toMatch(/throws\.ts does not load:\n.*broken at load\n.*throws\.ts:1/);
});

const isOld = (path: string) =>
  existsSync(path) && Number(/\d+/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[0]) < 24;
const oldNode = ['/usr/bin/node', '/usr/local/bin/node'].find(isOld);
if (!oldNode) process.stdout.write('skipped: no Node older than 24 here to start the CLI with\n');
(oldNode ? test : test.skip)('an older Node is told of in one line, with what helps, with 1', async () => {
  const old = oldNode ? { node: oldNode } : {};
  const { code, stdout, stderr } = await runCli(['serve'], old);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^hookkit needs Node\.js 24 or newer, and this is [\d.]+: use npx hookkit\n$/);
  const byNpx = await runCli(['serve'], { ...old, env: { npm_execpath: '/usr/bin/npm' } });
  expect(byNpx.stderr).toMatch(/: npm has found \S+ first; use \S+ \S+\n$/);
});
