import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runCli } from '../support/run-cli.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

let directory: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
});
afterEach(() => rmSync(directory, { recursive: true }));

const run = (args: readonly string[]) =>
  runCli(args, { cwd: directory, env: { DATABASE_URL: `sqlite:${join(directory, 'data', 'receiver.db')}` } });

/** What keeps a user from seeing whether the database is there, by the error. Nothing is closed to root. */
const unseen: [string, () => void][] = [
  ['ELOOP', () => symlinkSync('data', join(directory, 'data'))],
  ...(process.getuid?.() === 0
    ? []
    : [['EACCES', () => mkdirSync(join(directory, 'data'), { mode: 0o600 })] as [string, () => void]]),
];

describe.each(unseen)('where the database cannot be seen (%s)', (code, close) => {
  beforeEach(() => close());
  const said = new RegExp(
    `cannot look whether there is .*receiver\\.db \\(${code}\\): run this as the user `,
  );

  test.each([
    [['events', 'list']],
    [['events', 'send', '--kind', 'media_available', '--media', 'UUhbHm6C']],
    [['state', 'show', 'media:UUhbHm6C']],
    [['move', '--from', 'sqlite:./data/receiver.db', '--to', 'sqlite:./to.db']],
  ])('hookkit %j says so and what to do, and does not say that there is none', async (args) => {
    const { code: exit, stderr } = await run(args);
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: expect.stringMatching(said) });
    expect(stderr).not.toContain('there is no');
  });

  test('the doctor fails in the database and the key, and goes on', async () => {
    const { stdout } = await run(['doctor', '--offline', '--json']);
    const failed = expect.objectContaining({
      result: 'FAIL',
      detail: expect.stringMatching(/^cannot look /),
    });
    const { findings }: { findings: { check: string }[] } = JSON.parse(stdout);
    expect(findings.filter(({ check }) => check === 'database' || check === 'key')).toEqual([failed, failed]);
  });
});

test('the doctor ends with its findings, when the directory of the database cannot be listed', async () => {
  writeFileSync(join(directory, 'data'), 'no directory');
  const { stderr } = await run(['doctor', '--offline']);
  expect(stderr).toMatch(/^hookkit: \d+ of \d+ checks failed\n$/);
});
