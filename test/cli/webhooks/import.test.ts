import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../../support/engine.ts';
import { SECRET } from '../../support/notifications.ts';
import { runCli } from '../../support/run-cli.ts';

const database = databaseForEachTest();
const args = ['webhooks', 'import', '--id', 'hook0001'];

test('stores a secret, when it comes on stdin, without ever showing it', async () => {
  const run = await runCli(args, { env: database().env, stdin: `${SECRET}\n` });
  expect(run).toMatchObject({ code: 0, stderr: '' });
  expect(run.stdout).toBe('the secret of webhook hook0001 is stored; 0 notifications admitted\n');
});

test('refuses a secret, when it has a space inside, with 2, without showing it', async () => {
  const run = await runCli(args, { env: database().env, stdin: 'two words' });
  expect(run).toMatchObject({ code: 2, stdout: '', stderr: expect.not.stringContaining('words') });
});
