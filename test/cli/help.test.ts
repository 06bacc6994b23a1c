import { expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';

test.each([
  'webhooks create',
  'webhooks import',
  'webhooks list',
  'webhooks show',
  'webhooks update',
  'webhooks rotate',
  'webhooks delete',
  'handlers list',
  'handlers try',
  'quarantine list',
  'quarantine admit',
  'state show',
  'state delete',
  'doctor',
  'move',
])('tells its options and an example that begins like it, when %s is asked for help', async (command) => {
  const { code, stdout, stderr } = await runCli([...command.split(' '), '--help']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain('--json');
  expect(stdout).toMatch(new RegExp(`Examples?:\\n  npx hookkit ${command}`));
});
