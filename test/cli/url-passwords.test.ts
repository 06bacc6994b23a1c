import { expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';

const PASSWORD = 'hunter2hunter2';
const COMMANDS = [
  ['events', 'send', '--kind', 'media_available', '--media', 'a', '--to'],
  ['events', 'replay', '--all', '--to'],
  ['webhooks', 'create', '--name', 'x', '--url'],
  ['webhooks', 'update', 'x', '--url'],
  ['doctor', '--offline', '--url'],
  ['move', '--to', 'sqlite:x.db', '--from'],
  ['move', '--from', 'sqlite:x.db', '--to'],
];
const URLS = [
  `https://me:${PASSWORD}@127.0.0.1/`,
  `https://me:${PASSWORD}@:99999/`,
  `postgres://me:${PASSWORD}@127.0.0.1/x`,
];

test.each(COMMANDS.flatMap((command) => URLS.map((url) => [command.join(' '), url, command] as const)))(
  '%s %s is refused, and shows no password',
  async (_, url, command) => {
    const { code, stdout, stderr } = await runCli([...command, url]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/password|not shown/);
    expect(stderr).not.toContain(PASSWORD);
  },
);
