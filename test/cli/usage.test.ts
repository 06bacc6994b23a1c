import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  writeFileSync(join(directory, 'other.env'), '\uFEFFPORT=eighty\nLOG_LEVEL=loud\n');
  writeFileSync(join(directory, 'throws.ts'), "throw new Error('broken at load');\n");
});

const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(args, { cwd: directory, env });

test.each([
  ['', /serve.*demo.*dev.*mock.*events.*webhooks.*quarantine.*handlers.*state.*secrets.*move.*doctor.*init/s],
  ['events', /list.*show.*export.*replay.*send.*prune.*compare/s],
  [
    'events replay',
    /--kind.*--all.*--dry-run.*To the handlers:.*--run.*Over HTTP:.*--to.*--as-new.*Examples:/s,
  ],
])('hookkit %s --help tells what there is, and ends with 0', async (command, told) => {
  const { code, stdout, stderr } = await run([...command.split(' ').filter(Boolean), '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(told);
});

/** Called wrongly, with what is said. */
const wrong: readonly (readonly [command: string, told: RegExp])[] = [
  ['', /Usage: hookkit/],
  ['nonsense', /unknown command 'nonsense'/],
  ['events replay --q EMPTY', /the value of q is empty/],
  ['events show nonsense', /It must be an id as/],
  ['events list --limit 0', /whole number from 1/],
  ['events prune --older-than 30d --status dead', /dead events are not pruned/],
  ['events replay', /this would replay everything/],
  ['events replay --all --timeout 25d', /It must be at most 24d/],
  ['events list --since 2026-02-30', /It must be a time, as 2026-11-19/],
  ['events replay --all --to http://127.0.0.1:1/ --run', /'--to <url>' cannot be used with option '--run'/],
  ['state show UUhbHm6C', /It must be media:ID or channel:ID/],
];

test.each(wrong)('hookkit %s is refused with 2, and says what is wrong', async (command, told) => {
  const args = command.split(' ').filter(Boolean);
  const { code, stdout, stderr } = await run(args.map((arg) => (arg === 'EMPTY' ? '' : arg)));
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(told);
});

test.each([
  ['webhooks create --name a --site b --all-events --url https://u:hidden@your.host/'],
  ['move --from postgres://u:hidden@your.host/d --to sqlite:x.db'],
])('hookkit %s is refused with 2, and shows no password', async (command) => {
  const { code, stdout, stderr } = await run(command.split(' '));
  expect(code).toBe(2);
  expect(stdout + stderr).not.toContain('hidden');
});

test('every mistake of the environment is named at once, without a secret, with 2', async () => {
  const env = {
    PORT: 'eighty',
    LEASE_MS: '-1',
    SECRETS_KEY: 'not-a-key',
    PROVIDER_BASE_URL: 'http://u:pw@h/',
  };
  const { code, stderr } = await run(['serve'], env);
  expect(code).toBe(2);
  for (const told of [/PORT: "eighty" is not valid/, /LEASE_MS: "-1"/, /SECRETS_KEY: .*not shown/])
    expect(stderr).toMatch(told);
  expect(stderr).not.toMatch(/not-a-key|u:pw/);
});

test.each([
  ['--env-file other.env serve', {}, /with \S+\/other\.env has 2 mistakes:\n {2}PORT: "eighty"/],
  ['serve --env-file=other.env', { PORT: '0' }, /with \S+\/other\.env has 1 mistake:\n {2}LOG_LEVEL: "loud"/],
])('hookkit %s with %j says which file of settings was read, with 2', async (command, env, told) => {
  const { code, stderr } = await run(command.split(' '), env);
  expect(code).toBe(2);
  expect(stderr).toMatch(told);
});

test('handlers that do not load end what needs them with 1, file and line, and nothing else', async () => {
  const env = { HANDLERS: join(directory, 'throws.ts'), ADMIN_PORT: '0', PORT: '0' };
  for (const command of ['serve', 'handlers']) {
    const { code, stderr } = await run(command.split(' '), env);
    expect(code).toBe(1);
    expect(stderr).toMatch(/throws\.ts does not load:\n.*broken at load\n.*throws\.ts:1/);
  }
  expect((await run(['events', '--help'], env)).code).toBe(0);
});

test.each([
  ['serve', /cannot listen on 192\.0\.2\.1:0/],
  ['mock --host 192.0.2.1 --port 0', /cannot listen on 192\.0\.2\.1:0: .*; set --host and MOCK_PORT/],
])('hookkit %s ends with 1 and one sentence, when its address is not to be had', async (command, told) => {
  const { code, stderr } = await run(command.split(' '), { HOST: '192.0.2.1', PORT: '0', ADMIN_PORT: '0' });
  expect(code).toBe(1);
  expect(stderr).toMatch(told);
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
