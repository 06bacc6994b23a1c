import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { controlCatalogue, defaultTokens } from '../../src/mock/index.ts';
import { ask } from '../mock/support/api.ts';
import { startReceiver } from '../mock/support/receiver.ts';
import { eventually } from '../support/eventually.ts';
import { programEnv } from '../support/run-cli.ts';

const command = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));
let child: ChildProcess | undefined;

afterEach(() => {
  child?.kill('SIGKILL');
});

/** Runs `hookkit mock` as a process of its own, on any port that is free. */
function run(...args: string[]) {
  child = spawn(process.execPath, [command, 'mock', ...args], {
    cwd: tmpdir(),
    env: { ...programEnv, MOCK_PORT: '0' },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk) => {
    output.stdout += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output.stderr += chunk;
  });
  const ended = once(child, 'close').then(([code]) => code as number);
  return { child, output, ended };
}

test('hookkit mock says what it is, where it listens, its credentials and routes, then a line for each attempt, without its token, and ends with 0', async () => {
  const { child, output, ended } = run('--virtual-clock', '--seed', '5');
  await eventually('it has said all', () => output.stdout.includes('/_mock/reset'));
  const [url = ''] = /http:\S+/.exec(output.stdout) ?? [];
  expect(output.stdout).toMatch(new RegExp(`^.*MOCK.* ${url}\n`));
  expect(output.stdout).toContain('mock-api-secret');
  for (const { token } of defaultTokens) expect(output.stdout).toContain(token);
  for (const [method, path] of controlCatalogue) {
    expect(output.stdout).toMatch(new RegExp(`${method} +${path} `));
  }

  const receiver = await startReceiver();
  await ask(`${url}/v2/webhooks`, 'POST', {
    metadata: { name: 'a', webhook_url: receiver.url, events: ['channel_created'], site_ids: ['s'] },
  });
  await ask(`${url}/_mock/channels`, 'POST', { site_id: 's' });
  await eventually('it has delivered', () => output.stdout.includes('delivered'));
  const line = output.stdout.split('\n').find((text) => text.includes('delivered'));
  expect(line).toMatch(/^2026-01-01T00:00:00\.000Z #1 channel_created to \w{8}: 200, delivered$/);
  expect(output.stdout).not.toContain(receiver.received[0]?.token ?? '?');
  expect((await ask(`${url}/_mock/clock`, 'GET')).json.now).toBe('2026-01-01T00:00:00.000Z');
  await receiver.close();
  child.kill('SIGINT');
  expect([await ended, output.stderr]).toEqual([0, '']);
});
