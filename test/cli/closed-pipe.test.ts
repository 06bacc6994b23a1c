import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';

const desk = deskForEachTest();
jest.setTimeout(60_000); // processes on a busy machine
const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));

/** Runs `hookkit` with a shell's pipe to a reader; tells what that printed, and on stderr what else was, code included. */
async function pipeTo(reader: string, args: readonly string[], streams = '') {
  const script = `{ "$@" ${streams}; echo "code $?" >&3; } 3>&2 | ${reader}`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, cli, ...args], {
    cwd: desk().directory,
    env: { ...desk().env, ADMIN_PORT: '0', PATH: process.env.PATH },
  });
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exited;
  return { stdout, stderr };
}

test.each([
  [['webhooks', 'list', '--stored']],
  [['webhooks', 'list', '--stored', '--json']],
  [['quarantine', 'list']],
  [['quarantine', 'admit', '--json']],
  [['secrets', 'rekey']],
  [['doctor', '--offline']],
  [['doctor', '--offline', '--json']],
  [['events', 'list']],
  [['events', 'list', '--json']],
  [['events', 'export']],
  [['events', 'replay', '--all', '--dry-run']],
  [['demo', '--once']],
  [['--help']],
])('ends quietly with 0, when nobody reads what %j prints', async (args) => {
  await desk().fill(3);
  expect(await pipeTo('true', args)).toEqual({ stdout: '', stderr: 'code 0\n' });
});

test('ends quietly, when nobody reads its messages either', async () => {
  await desk().fill(3);
  const { stderr } = await pipeTo('true', ['events', 'list', '--limit', '1'], '2>&1');
  expect(stderr).toBe('code 0\n');
});

test('stops writing, when the reader has had enough in the middle of much', async () => {
  await desk().fill(2000, 500);
  const { stdout, stderr } = await pipeTo('head -1', ['events', 'export']);
  expect(stdout).toMatch(/^\{.*\}\n$/);
  expect(stderr).toBe('code 0\n');
});

test('does all that it is to, when nobody reads what it prints of it', async () => {
  await desk().fill(3);
  await pipeTo('true', ['events', 'replay', '--all']);
  expect(await (await desk().store()).count({ status: 'pending' })).toBe(3);
});
