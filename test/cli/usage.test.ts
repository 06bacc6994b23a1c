import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runCli, spawnCli } from '../support/run-cli.ts';
import { programEnv } from '../support/sample-handlers.ts';

test('tells its commands, when asked for help, and ends with 0', async () => {
  const { code, stdout } = await runCli(['--help']);
  expect(code).toBe(0);
  for (const command of ['serve', 'demo', 'mock', 'webhooks']) expect(stdout).toContain(command);
});

test.each([[['nonsense']], [['serve', '--nonsense']], [['webhooks', 'import']], [[]]])(
  'says what is wrong, when called as hookkit %j, and ends with 2',
  async (args) => {
    const { code, stdout, stderr } = await runCli(args);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).not.toBe('');
  },
);

test('names every mistake at once, when the environment has several, and ends with 2', async () => {
  const env = { PORT: 'eighty', LEASE_MS: '-1', SECRETS_KEY: 'not-a-key-that-may-be-shown' };
  const { code, stderr } = await runCli(['serve'], { env });
  expect(code).toBe(2);
  expect(stderr).toMatch(/PORT: "eighty" is not valid/);
  expect(stderr).toMatch(/LEASE_MS: "-1" is not valid/);
  expect(stderr).toMatch(/SECRETS_KEY: .*not shown/);
  expect(stderr).not.toContain('not-a-key');
});

const oldNode = ['/usr/bin/node', '/usr/local/bin/node'].find(
  (path) =>
    existsSync(path) && Number(/\d+/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' }))?.[0]) < 24,
);
if (!oldNode) process.stdout.write('skipped: no Node older than 24 here to start the CLI with\n');
(oldNode ? test : test.skip)(
  'says in one line which Node it needs, when started on an older one, and ends with 1',
  async () => {
    const { code, stdout, stderr } = await spawnCli(['serve'], oldNode ? { node: oldNode } : {});
    expect(code).toBe(1);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^hookkit needs Node\.js 24 or newer, and this is [\d.]+: use npx hookkit\n$/);
  },
);

(oldNode ? test : test.skip)(
  'says what helps, when npx has started it on an older Node all the same, or there is none that npm ci has brought',
  async () => {
    const old = oldNode ? { node: oldNode } : {};
    const byNpx = await spawnCli(['serve'], { ...old, env: { npm_execpath: '/usr/bin/npm' } });
    expect(byNpx.stderr).toMatch(/: npm has found \S+ first; use (\S+) (\S+)\n$/);
    const [, node = '', program = ''] = /; use (\S+) (\S+)\n$/.exec(byNpx.stderr) ?? [];
    expect(execFileSync(node, [program, '--help'], { encoding: 'utf8', env: programEnv })).toContain(
      'hookkit',
    );

    const production = mkdtempSync(join(tmpdir(), 'hookkit-production-'));
    for (const name of ['bin', 'package.json', 'src/cli/main.ts'])
      cpSync(new URL(`../../${name}`, import.meta.url), join(production, name), { recursive: true });
    const alone = await spawnCli(['serve'], { ...old, cli: join(production, 'bin/hookkit.js') });
    rmSync(production, { recursive: true });
    expect(alone.stderr).toMatch(
      /: install a newer one \(https:\/\/nodejs\.org\), or run npm ci without --omit=dev/,
    );
    expect(alone.code).toBe(1);
  },
);
