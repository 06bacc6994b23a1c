import { closeSync, copyFileSync, existsSync, openSync, statSync, writeSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DEAD, settleAll } from '../support/claiming.ts';
import { testOfFiles } from '../support/engine.ts';
import { deskForEachTest } from '../support/event-desk.ts';
import { tokenOf } from '../support/hs256.ts';
import { runCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const desk = deskForEachTest();

const cli = (...args: string[]) => runCli(args, { env: desk().env, cwd: desk().directory });

test('events dismiss puts away what is dead or pending and the filter means, and nothing when run dry', async () => {
  const store = await desk().store();
  await desk().fill(3);
  for (const media_id of ['first', 'second']) {
    await store.record(verified({ media_id }));
    await settleAll(store, DEAD);
  }
  const dismiss = (...more: string[]) => desk().events(['dismiss', '--reason', 'not ours', ...more]);
  expect(await dismiss()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('give a filter, or --all'),
  });
  expect((await dismiss('--dry-run')).stdout).toBe('2 events would be dismissed\n');
  const first = await dismiss('--resource', 'media:first', '--error', 'nev*', '--json');
  expect(JSON.parse(first.stdout)).toEqual({ dismissed: 1, running: 0 });
  expect((await dismiss('--all')).stdout).toBe('1 events dismissed\n');
  expect(await store.overview()).toMatchObject({ dead: 0, pending: 0 });
  const { stdout } = await desk().events(['list', '--status', 'dismissed', '--json']);
  expect(stdout).toContain('"last_error":"not ours"');
});

test('quarantine list shows what waits and from whom, admit takes what a secret verifies, and drop the rest, of one webhook or of all', async () => {
  const store = await desk().store();
  const keep = (media_id: string, webhook_id: string, secret = 'right') => {
    const one = verified({ media_id, webhook_id });
    return store.quarantine({ ...one, token: tokenOf(one.body, secret), source: '192.0.2.7' }, 1_000_000);
  };
  for (const media of ['a', 'b', 'c']) await keep(media, 'known');
  for (const media of ['a', 'b', 'c']) await keep(media, 'unknown', 'wrong');
  // A secret that serves all: what is signed with it verifies, and the rest stays.
  const env = { ...desk().env, WEBHOOK_SECRET: 'right' };
  const quarantine = async (...args: string[]) =>
    JSON.parse((await runCli(['quarantine', ...args, '--json'], { env })).stdout);
  const waiting = await quarantine('list', '--webhook', 'known');
  expect(waiting).toHaveLength(3);
  expect(waiting[0]).toMatchObject({ webhook_id: 'known', kind: 'media_available', source: '192.0.2.7' });
  expect(await quarantine('admit', '--webhook', 'unknown')).toEqual({ admitted: 0, kept: 3 });
  expect(await quarantine('admit')).toEqual({ admitted: 3, kept: 3 });
  expect(await store.count({ status: 'pending' })).toBe(3);
  expect(await quarantine('drop', '--webhook', 'known')).toEqual({ dropped: 0 });
  expect(await quarantine('drop', '--all')).toEqual({ dropped: 3 });
});

testOfFiles(
  'backup copies the database while others have it open, checks it, and replaces nothing',
  async () => {
    await desk().fill(5);
    const copy = desk().path('copy.db');
    const { code, stdout, stderr } = await cli('backup', copy);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('5 events') });
    expect(stderr).toContain('the key is not in it');
    expect([statSync(copy).mode & 0o777, existsSync(`${copy}.part`)]).toEqual([0o600, false]);
    copyFileSync(desk().path('receiver.db.key'), `${copy}.key`);
    const found = await runCli(['events', 'list', '--json'], {
      env: { ...desk().env, DATABASE_URL: `sqlite:${copy}` },
    });
    expect(found.stdout.trim().split('\n')).toHaveLength(5);
    expect(await cli('backup', copy)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('another name'),
    });
  },
);

testOfFiles('backup fails and leaves no copy, when the database is damaged', async () => {
  await desk().fill(200);
  await desk().database.execute({ sqlite: 'PRAGMA wal_checkpoint(TRUNCATE)', postgres: '' });
  const copy = desk().path('copy.db');
  const file = openSync(desk().path('receiver.db'), 'r+');
  writeSync(file, Buffer.alloc(40_000, 'x'), 0, 40_000, 8192);
  closeSync(file);
  expect((await cli('backup', copy)).code).toBe(1);
  expect(existsSync(copy)).toBe(false);
});
