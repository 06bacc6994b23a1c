import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { DEAD, settleAll } from '../support/claiming.ts';
import { inColumn, testOfFiles } from '../support/engine.ts';
import { deskForEachTest, ndjson } from '../support/event-desk.ts';
import { eventually } from '../support/eventually.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { tokenOf } from '../support/hs256.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { callCli, ourCli, programEnv } from '../support/run-cli.ts';
import { verified, verifiedBody } from '../support/verified-notification.ts';

const desk = deskForEachTest();

const cli = (...args: string[]) => callCli(args, { env: desk().env, cwd: desk().directory });

test('quarantine list shows what waits and from whom, admit takes what a secret verifies, and drop the rest, of one webhook or of all', async () => {
  const store = await desk().store();
  const keep = (media_id: string, webhook_id: string, secret = 'right') => {
    const one = verified({ media_id, webhook_id });
    return store.quarantine.add({ ...one, token: tokenOf(one.body, secret), source: '192.0.2.7' }, 1_000_000);
  };
  for (const media of ['a', 'b', 'c']) await keep(media, 'known');
  for (const media of ['a', 'b', 'c']) await keep(media, 'unknown', 'wrong');
  await keep('a', 'retired');
  await store.secrets.add('retired', 'old');
  await store.secrets.retire('retired', 'old', 0);
  // A secret that serves all: what is signed with it verifies, and the rest stays.
  const env = { ...desk().env, WEBHOOK_SECRET: 'right' };
  const printed = async (...args: string[]) =>
    (await callCli(['quarantine', ...args, '--json'], { env })).stdout;
  const quarantine = async (...args: string[]) => JSON.parse(await printed(...args));
  const waiting = ndjson(await printed('list', '--webhook', 'known'));
  expect(waiting).toHaveLength(3);
  expect(waiting[0]).toMatchObject({ webhook_id: 'known', kind: 'media_available', source: '192.0.2.7' });
  expect(await quarantine('admit', '--webhook', 'unknown')).toEqual({ admitted: 0, kept: 3 });
  expect(await quarantine('admit')).toEqual({ admitted: 3, kept: 4 });
  expect(await store.queue.count({ status: 'pending' })).toBe(3);
  expect(await quarantine('drop', '--webhook', 'known')).toEqual({ dropped: 0 });
  expect(await quarantine('drop', '--before', '2020-01-01')).toEqual({ dropped: 0 });
  expect(await quarantine('drop', '--webhook', 'retired')).toEqual({ dropped: 1 });
  expect(await quarantine('drop', '--webhook', 'unknown', '--before', '2100-01-01')).toEqual({ dropped: 3 });
  expect(await quarantine('drop', '--all')).toEqual({ dropped: 0 });
});

const parts = () => readdirSync(desk().directory).filter((name) => name.endsWith('.part'));

testOfFiles('backup copies a database that others have open, checks it, and replaces nothing', async () => {
  await desk().fill(5);
  const copy = desk().path('copy.db');
  desk().write('copy.db.part', 'of somebody');
  const { code, stdout, stderr } = await cli('backup', copy);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('5 events') });
  expect(stderr).toContain('the key is not in the backup');
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  expect(parts()).toEqual(['copy.db.part']);
  copyFileSync(desk().path('receiver.db.key'), `${copy}.key`);
  const found = await callCli(['events', 'list', '--json'], {
    env: { ...desk().env, DATABASE_URL: `sqlite:${copy}` },
  });
  expect(found.stdout.trim().split('\n')).toHaveLength(5);
  expect(await cli('backup', copy)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('another name'),
  });
});

testOfFiles('backup fails and leaves no copy, when the database is damaged', async () => {
  await desk().fill(200);
  await desk().database.execute({ sqlite: 'PRAGMA wal_checkpoint(TRUNCATE)', postgres: '' });
  const copy = desk().path('copy.db');
  const file = openSync(desk().path('receiver.db'), 'r+');
  writeSync(file, Buffer.alloc(40_000, 'x'), 0, 40_000, 8192);
  closeSync(file);
  expect((await cli('backup', copy)).code).toBe(1);
  expect([existsSync(copy), parts()]).toEqual([false, []]);
});

test('status says from the database what the overview says, with 1 where something is grave, and needs no server', async () => {
  await desk().fill(2);
  const stopped = await cli('status');
  expect(stopped).toMatchObject({ code: 1, stderr: 'hookkit: 2 of these need attention now\n' });
  expect(stopped.stdout).toMatch(
    /^grave {6}No receiver runs on this database\. .*`npm start`\.\ngrave {6}No notification has come for \d+ d/,
  );

  const server = await desk().serve({ WEBHOOK_SECRET: SECRET });
  expect((await deliver(server.url, bodyOf(1))).status).toBe(200);
  const store = await desk().store();
  const isReported = async () =>
    (await store.reports.stats({ since: 0 })).some(({ result }) => result === 'accepted');
  await eventually('it has reported', isReported);
  const { instances, figures } = JSON.parse((await cli('status', '--json')).stdout);
  expect([instances.length, figures.accepted]).toEqual([1, 1]);
  const well = await cli('status');
  expect(well).toMatchObject({ code: 0, stderr: '' });
  expect(well.stdout.split('\n')).toEqual([
    expect.stringMatching(/^ok {9}All is well\. .* The newest notification came [\d.]+ m?s ago\.$/),
    expect.stringMatching(/^events {5}pending \d, running \d, dead 0, quarantined 0$/),
    expect.stringMatching(/^last hour {2}received 1, handled \d, skipped 0, runs failed 0, refused 0, not /),
    expect.stringMatching(/^database {3}[\d.]+ MiB/),
    expect.stringMatching(/^instance {3}\S+ \(\d+\.\d+\.\d+.*\): seen [\d.]+ m?s ago, \d running$/),
    '',
  ]);
});

testOfFiles('status says that the key file is gone, with 1, until it is back', async () => {
  await desk().fill(2);
  const { url } = await desk().serve({ WEBHOOK_SECRET: SECRET });
  expect((await deliver(url, bodyOf(1))).status).toBe(200);
  expect(await cli('status')).toMatchObject({ code: 0 });
  const [key, copy] = [desk().path('receiver.db.key'), desk().path('copy')];
  renameSync(key, copy);
  const { code, stdout } = await cli('status');
  expect([code, stdout.split('\n').slice(0, 2)]).toEqual([
    1,
    [
      expect.stringMatching(
        /^grave {6}The key file \S+receiver\.db\.key is gone: the next start will fail\. /,
      ),
      expect.stringMatching(/^events {5}pending \d, running \d, dead 0, quarantined 0$/),
    ],
  ]);
  renameSync(copy, key);
  expect(await cli('status')).toMatchObject({ code: 0 });
});

/** Runs `hookkit events` with a shell's pipe to a reader; tells what that printed, and on stderr what else was, code included. */
async function pipeTo(reader: string, args: readonly string[]) {
  const script = `{ "$@"; echo "code $?" >&3; } 3>&2 | ${reader}`;
  const child = spawn('sh', ['-c', script, 'sh', process.execPath, ourCli, 'events', ...args], {
    cwd: desk().directory,
    env: { ...programEnv, ...desk().env },
  });
  const exited = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await exited;
  return { stdout, stderr };
}

test.each([
  ['head -1', ['export'], /^\{.*\}\n$/, /^code 0\n$/],
  ['true', ['replay', '--all', '--run'], /^$/, /\ncode 0\n$/],
  ['true', ['replay', '--all', '--run', '--expect', 'dead'], /^$/, /did not end as dead.*\ncode 1\n$/s],
])('a reader, %s, that has had enough ends %j as ever, after its work', async (reader, args, read, told) => {
  await desk().fill(500, 50); // more than a pipe holds
  const { stdout, stderr } = await pipeTo(reader, args);
  expect(stdout).toMatch(read);
  expect(stderr).toMatch(told);
  expect(stderr).not.toContain('EPIPE');
});

const BODY = {
  event: `media_${SPOOF}`,
  webhook_id: `w${SPOOF}`,
  site_id: `s${SPOOF}`,
  media_id: `m${SPOOF}`,
  event_time: '2026-01-01T00:00:00+00:00',
  [SPOOF]: SPOOF,
};

/** As a store may hold it that an earlier version has written. */
const notification = {
  ...verifiedBody(BODY),
  kind: BODY.event,
  webhookId: BODY.webhook_id,
  siteId: BODY.site_id,
  resource: `media:${BODY.media_id}`,
};

/** What a command prints has nothing hostile in it, and something of what it was made from. */
async function printed(args: readonly string[]) {
  const { stdout, stderr, code } = await cli(...args);
  expect({ args, hostile: hostileIn(stdout + stderr) }).toEqual({ args, hostile: [] });
  return { stdout, stderr, code };
}

test('hostile text is visible, when events and quarantine are shown, to people as escapes and to programs as it was', async () => {
  const store = await desk().store();
  const { id } = await store.queue.record(notification);
  await settleAll(store, { ...DEAD, error: `broken ${SPOOF}\nat ${SPOOF}` });
  await store.quarantine.add({ ...notification, token: 'x.y.z', source: `192.0.2.1${SPOOF}` }, 1_000_000);
  for (const args of [
    ['events', 'list'],
    ['events', 'show', id],
    ['quarantine', 'list'],
    ['handlers', 'try', id],
  ]) {
    expect((await printed(args)).stdout).toContain('\\u202e');
  }
  const shown = JSON.parse((await printed(['events', 'show', id, '--json'])).stdout);
  expect(shown.last_error).toBe(inColumn(`broken ${SPOOF}\nat ${SPOOF}`));
  const [exported] = ndjson((await printed(['events', 'export'])).stdout);
  expect(exported.body).toBe(notification.body);
});
