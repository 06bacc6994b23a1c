import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, jest, test } from '@jest/globals';
import { deskForEachTest } from '../support/event-desk.ts';
import { programEnv } from '../support/sample-handlers.ts';
import { atFullSize, size, some } from '../support/sizes.ts';

const desk = deskForEachTest();
jest.setTimeout(60_000); // processes on a busy machine
const cli = fileURLToPath(new URL('../../bin/hookkit.js', import.meta.url));

/** Runs `hookkit` with a shell's pipe to a reader; tells what that printed, and on stderr what else was, code included. */
async function pipeTo(reader: string, args: readonly string[], streams = '') {
  const script = `{ "$@" ${streams}; echo "code $?" >&3; } 3>&2 | ${reader}`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, cli, ...args], {
    cwd: desk().directory,
    env: { ...programEnv, ...desk().env, ADMIN_PORT: '0' },
  });
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exited;
  return { stdout, stderr };
}

const printing = [
  ['webhooks', 'list', '--stored'],
  ['webhooks', 'list', '--stored', '--json'],
  ['quarantine', 'list'],
  ['quarantine', 'admit', '--json'],
  ['--help'],
  ['secrets', 'rekey'],
  ['doctor', '--offline'],
  ['events', 'list'],
  ['events', 'list', '--json'],
  ['doctor', '--offline', '--json'],
  ['events', 'export'],
  ['events', 'replay', '--all', '--dry-run'],
  ['demo', '--once'],
].map((args) => [args] as const);

test.each(some(1, printing))('ends quietly with 0, when nobody reads what %j prints', async (args) => {
  await desk().fill(3);
  expect(await pipeTo('true', args)).toEqual({ stdout: '', stderr: 'code 0\n' });
});

atFullSize(test)('ends quietly, when no process reads its messages either', async () => {
  await desk().fill(3);
  const { stderr } = await pipeTo('true', ['events', 'list', '--limit', '1'], '2>&1');
  expect(stderr).toBe('code 0\n');
});

test('stops writing, when the reader has had enough in the middle of much', async () => {
  await desk().fill(size({ small: 500, full: 2000 }), 500); // more than a pipe holds
  const { stdout, stderr } = await pipeTo('head -1', ['events', 'export']);
  expect(stdout).toMatch(/^\{.*\}\n$/);
  expect(stderr).toBe('code 0\n');
});

const working = [
  [
    'a report is whole, when no process reads the output beside it',
    async () => {
      await desk().fill(3);
      const report = join(desk().directory, 'report.ndjson');
      const { stderr } = await pipeTo('true', ['events', 'replay', '--all', '--run', '--report', report]);
      expect(stderr).toMatch(/\ncode 0\n$/);
      expect(readFileSync(report, 'utf8').trimEnd().split('\n')).toHaveLength(3);
    },
  ],
  [
    'does all of its work, when no process reads its output',
    async () => {
      await desk().fill(3);
      await pipeTo('true', ['events', 'replay', '--all']);
      expect(await (await desk().store()).count({ status: 'pending' })).toBe(3);
    },
  ],
] as const;

test.each(some(1, working))('%s', (_what, work) => work());

const outcome = (end: string) =>
  `{"v":1,"id":"x","kind":"media_created","resource":"media:m","outcome":"${end}"}\n`;

const failing: readonly (readonly [args: readonly string[], why: string])[] = [
  [['doctor', '--offline'], 'checks failed'],
  [['doctor', '--offline', '--json'], 'checks failed'],
  [['events', 'replay', '--all', '--run', '--expect', 'dead'], 'did not end as dead'],
  [['events', 'replay', '--to', 'http://127.0.0.1:1/', '--all'], 'were not answered with 200'],
  [['events', 'replay', '--dry-run', '--since', '2999-01-01'], 'no event matches'],
  [['events', 'send', '--to', 'http://127.0.0.1:1/', '--kind', 'media_created', '--media', 'm'], 'no answer'],
  [['events', 'compare', 'a.ndjson', 'b.ndjson'], '0 events ended alike, 1 differently'],
];

test.each(some(1, failing))('fails all the same, when nobody reads what %j prints', async (args, why) => {
  await desk().fill(3);
  writeFileSync(join(desk().directory, 'a.ndjson'), outcome('handled'));
  writeFileSync(join(desk().directory, 'b.ndjson'), outcome('dead'));
  writeFileSync(join(desk().directory, '.env'), args[0] === 'doctor' ? 'RETENTION_DAYS=never\n' : '');
  const { stderr } = await pipeTo('true', args);
  expect(stderr).toContain(why);
  expect(stderr).toMatch(/\ncode 1\n$/);
});
