import { expect, test } from '@jest/globals';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';

const desk = deskForEachTest();

test.each([
  [['--from', 'nowhere'], /cannot read the recording nowhere: ENOENT/],
  [['--from', '-', '--secret-file', '-'], /stdin cannot be both the recording and the secret/],
  [['--from', 'x', '--status', 'dead'], /--status is of the database: a recording has none/],
  [['--from', 'x', '--speed', 'fast'], /must be a factor such as 1, 10 or 0\.5, or max/],
  [['--from', 'x', '--duplicate', '2'], /must be a number from 0 to 1/],
  [['--from', 'x', '--concurrency', '0'], /must be a whole number from 1 to 1000000000/],
  [['--from', 'x', '--seed', '7'], /--seed is for what is drawn: give --shuffle or --duplicate/],
  [[], /this would replay everything: give a filter, or --all/],
])('says what is wrong, when called with --to and %j, and ends with 2', async (args, message) => {
  const run = await desk().events(['replay', '--to', 'http://127.0.0.1:1/', ...args], {
    env: { WEBHOOK_SECRET: SECRET },
  });
  expect({ code: run.code, stdout: run.stdout }).toEqual({ code: 2, stdout: '' });
  expect(run.stderr).toMatch(message);
});

test('refuses a URL with a password, when one is given, as anybody could read it', async () => {
  const { code, stderr } = await desk().events(['replay', '--to', 'http://me:secret@127.0.0.1/', '--all']);
  expect(code).toBe(2);
  expect(stderr).toContain('a URL must not have a user name or a password in it');
  expect(stderr).not.toContain('me:secret');
});
