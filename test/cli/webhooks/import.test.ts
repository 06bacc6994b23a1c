import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { databaseForEachTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { bodyOf, deliver, SECRET } from '../../support/notifications.ts';
import { runCli } from '../../support/run-cli.ts';
import { type Served, serve } from '../../support/served.ts';

const database = databaseForEachTest();
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  env = database().env;
});
let server: Served | undefined;
afterEach(() => server?.discard());

test('stores a secret, when it comes on stdin, without ever showing it', async () => {
  const run = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: `${SECRET}\n` });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toBe('the secret of webhook hook0001 is stored; 0 notifications admitted\n');
});

test('refuses a secret, when it has a space inside, with 2', async () => {
  const run = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: 'two words' });
  expect(run).toMatchObject({ code: 2, stdout: '' });
  expect(run.stderr).not.toContain('words');
});

test('admits what waits in quarantine, when the server runs and the secret comes late, and handles it', async () => {
  const service = await serve({ env: { ...env, DRAIN_MS: '0' } });
  server = service;
  const refused = await Promise.all([1, 2, 3].map((number) => deliver(service.url, bodyOf(number))));
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 401]);
  await eventually('all wait in quarantine', async () => {
    const { stdout } = await runCli(['quarantine', 'list', '--json'], { env });
    return JSON.parse(stdout).length === 3;
  });
  const wrong = await runCli(['webhooks', 'import', '--id', 'hook0001'], { env, stdin: 'a-wrong-secret' });
  expect(wrong).toMatchObject({ code: 0, stderr: expect.stringContaining('3 notifications') });
  const run = await runCli(['webhooks', 'import', '--id', 'hook0001', '--json'], { env, stdin: SECRET });
  expect((await deliver(service.url, bodyOf(4))).status).toBe(200);
  await eventually('all are handled', () => service.output().split('media is announced').length - 1 === 4);
  // Those count as well that the server has admitted, which may have noticed the secret first.
  expect(JSON.parse(run.stdout)).toMatchObject({ admitted: 3, waiting: 0 });
  await service.stop();
  expect(service.output()).not.toContain(SECRET);
});
