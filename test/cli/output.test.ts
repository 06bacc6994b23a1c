import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { DEAD, settleAll } from '../support/claiming.ts';
import { inColumn } from '../support/engine.ts';
import { deskForEachTest, ndjson } from '../support/event-desk.ts';
import { hostileIn, SPOOF } from '../support/hostile-text.ts';
import { callCli, programEnv } from '../support/run-cli.ts';
import { verifiedBody } from '../support/verified-notification.ts';

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
  const { stdout, stderr, code } = await callCli(args, { env: desk().env, cwd: desk().directory });
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
