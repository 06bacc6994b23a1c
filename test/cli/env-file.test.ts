import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runCli, spawnCli } from '../support/run-cli.ts';
import { programEnv } from '../support/sample-handlers.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

const write = (name: string, ...lines: readonly string[]) =>
  writeFileSync(join(directory, name), `${lines.join('\n')}\n`);
const run = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(args, { cwd: directory, env });

test.each([
  [['--env-file', 'other.env', 'serve']],
  [['--env-file=other.env', 'serve']],
  [['serve', '--env-file', 'other.env']],
])('hookkit %j reads that file and no .env, and names it where it has mistakes, with 2', async (args) => {
  write('.env', 'ADMIN_PORT=from .env');
  write('other.env', 'PORT=eighty', 'LOG_LEVEL=loud');
  const { code, stderr } = await run(args);
  expect(code).toBe(2);
  expect(stderr).toContain(`hookkit: the environment with ${join(directory, 'other.env')} has 2 mistakes:\n`);
  expect(stderr).toContain('PORT: "eighty"');
  expect(stderr).not.toContain('ADMIN_PORT');
});

test('the environment wins over the file, when both set a variable', async () => {
  write('other.env', 'PORT=eighty', 'LOG_LEVEL=loud');
  const { stderr } = await run(['--env-file', 'other.env', 'serve'], { PORT: '0' });
  expect(stderr).toContain('has 1 mistake:\n  LOG_LEVEL: "loud"');
});

test.each([
  [[], 'the environment (there is no FILE)'],
  [['PORT=3000'], 'the environment with FILE'],
])('says which file was read, when a variable is missing and .env has %j', async (lines, source) => {
  if (lines.length > 0) write('.env', ...lines);
  const told = source.replace('FILE', join(directory, '.env'));
  const missing = await run(['webhooks', 'list']);
  expect(missing.code).toBe(2);
  expect(missing.stderr).toContain(`PROVIDER_API_SECRET is not set: ${told} `);
  const refused = await run(['serve'], { ADMIN_HOST: '0.0.0.0' });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`${told} has 1 mistake:\n  ADMIN_TOKEN: must be set`);
  expect((await run(['doctor', '--offline'])).stdout).toContain(`no mistakes in ${told}`);
});

test('takes the first variable, when an editor has written a byte order mark before it, and refuses UTF-16 with advice', async () => {
  write('marked.env', '\uFEFFPORT=eighty');
  expect((await run(['--env-file', 'marked.env', 'serve'])).stderr).toContain('PORT: "eighty"');
  writeFileSync(join(directory, 'wide.env'), Buffer.from('\uFEFFPORT=3000\n', 'utf16le'));
  const { code, stderr } = await run(['--env-file', 'wide.env', 'serve']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^hookkit: cannot read .*wide\.env: .*save it as UTF-8/);
});

/**
 * Node 24 looks for the file of this option itself, wherever it stands on a command line, and ends with 9 where there is
 * none, before it runs anything; behind `--` it does not.
 */
async function runBehindDashes(...args: readonly string[]) {
  const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));
  const child = spawn(process.execPath, ['--', cli, ...args], { cwd: directory, env: programEnv });
  const exited = once(child, 'exit');
  const stderr = await text(child.stderr);
  const [code] = await exited;
  return { code, stderr };
}

test('ends with 2 and its name, when the file cannot be read', async () => {
  mkdirSync(join(directory, 'folder.env'));
  const { code, stderr } = await run(['--env-file', 'folder.env', 'handlers']);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^hookkit: cannot read .*folder\.env: /);
});

test('ends with its name, when there is no such file', async () => {
  expect(await runBehindDashes('--env-file', 'nowhere.env', 'handlers')).toEqual({
    code: 2,
    stderr: `hookkit: there is no file ${join(directory, 'nowhere.env')} (--env-file)\n`,
  });
  const { code, stdout, stderr } = await spawnCli(['--env-file', 'nowhere.env', 'handlers'], {
    cwd: directory,
  });
  expect([2, 9]).toContain(code);
  expect(stdout).toBe('');
  expect(stderr).toMatch(/nowhere\.env/);
});
