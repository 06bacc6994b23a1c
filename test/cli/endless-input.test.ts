import { existsSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';

const ENDLESS = '/dev/zero';
const commands = [
  ['webhooks', 'import', '--id', '2yW4KmiG', '--secret-file', ENDLESS],
  ['events', 'send', '--to', 'http://127.0.0.1:9', '--body', ENDLESS],
  ['events', 'export', '--redact', '--redact-key-file', ENDLESS],
];

(existsSync(ENDLESS) ? describe : describe.skip)('a file without end', () => {
  test.each(commands)('ends hookkit %s %s with 2, when it is to be read whole', async (...args) => {
    const { code, stderr } = await runCli(args, { env: { DATABASE_URL: 'sqlite:/nonexistent/none.db' } });
    expect(stderr).toMatch(/is longer than \d+ bytes/);
    expect(code).toBe(2);
  });
});
