import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';
import { programEnv } from '../support/run-cli.ts';

const desk = deskForEachTest();
const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));

/** Runs `hookkit events` with a shell's pipe to a reader; tells what that printed, and on stderr what else was, code included. */
async function pipeTo(reader: string, args: readonly string[]) {
  const script = `{ "$@"; echo "code $?" >&3; } 3>&2 | ${reader}`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, cli, 'events', ...args], {
    cwd: desk().directory,
    env: { ...programEnv, ...desk().env },
  });
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exited;
  return { stdout, stderr };
}

test.each([
  ['head -1', ['export'], /^\{.*\}\n$/],
  ['true', ['replay', '--all', '--run'], /^$/],
])('a reader, %s, that has had enough ends %j quietly with 0, after its work', async (reader, args, read) => {
  await desk().fill(500, 50); // more than a pipe holds
  const { stdout, stderr } = await pipeTo(reader, args);
  expect(stdout).toMatch(read);
  expect(stderr).toMatch(/(^|\n)code 0\n$/);
  expect(stderr).not.toContain('EPIPE');
});

test('a command fails all the same, when nobody reads what it prints', async () => {
  await desk().fill(3);
  const { stderr } = await pipeTo('true', ['replay', '--all', '--run', '--expect', 'dead']);
  expect(stderr).toContain('did not end as dead');
  expect(stderr).toMatch(/\ncode 1\n$/);
});
