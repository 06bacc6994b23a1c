import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { expect, test } from '@jest/globals';
import { toLine } from '../../src/replay/recording-lines.ts';
import { listeningOn } from '../mock/support/listening.ts';
import { directoryForEachTest } from '../support/directory-for-each-test.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { startReceiver } from '../support/receiver.ts';
import { startCli } from '../support/run-cli.ts';
import { verified } from '../support/verified-notification.ts';

const start = inspectedForEachTest();
const READS = 'the-token-of-those-who-read';
const TOKENS = { ADMIN_TOKEN: 'the-admin-token-of-the-tests', ADMIN_READ_TOKEN: READS };

const fileOf = directoryForEachTest();
const write = (name: string, text: string) => {
  writeFileSync(fileOf(name), text);
  return fileOf(name);
};
const record = async ({ service }: Inspected, ...media: readonly string[]) => {
  for (const media_id of media) await service.store.queue.record(verified({ media_id }));
};

/** Starts to listen, as a process of its own. */
function listen(url: string, ...args: readonly string[]) {
  const given = ['listen', '--from', url, '--token-file', write('token', READS), ...args];
  return startCli(given, { cwd: fileOf(), env: { WEBHOOK_SECRET: 'a-secret-of-dev' } });
}

test('prints what came since a time and then comes, up to a limit, a line each or recordings, and goes on by the cursor', async () => {
  const inspected = await start({}, TOKENS);
  await record(inspected, 'a', 'b');
  const first = listen(inspected.url, '--since', '1h', '--limit', '3', '--cursor-file', fileOf('cursor'));
  await first.says('connected to');
  await record(inspected, 'c', 'd');
  const { code, stdout, stderr } = await first.ended;
  expect(code).toBe(0);
  expect(stdout.match(/media_available {2}media:\w/g)?.map((text) => text.at(-1))).toEqual(['a', 'b', 'c']);
  expect(stderr).toMatch(
    /^connected to http:\S+: 2 events behind\nended at (\S+): --after \1 goes on there\n$/,
  );
  const second = await listen(inspected.url, '--cursor-file', fileOf('cursor'), '--limit', '1', '--json')
    .ended;
  expect(JSON.parse(JSON.parse(second.stdout).body)).toMatchObject({ media_id: 'd' });
  const third = listen(inspected.url, '--after', 'start', '--limit', '1', '--resource', 'media:b');
  expect((await third.ended).stdout).toContain('media:b');
});

test('sends each on to a receiver in order, and misses none and repeats the last one at most, when it is killed meanwhile', async () => {
  const inspected = await start({}, TOKENS);
  const { url, media, overlaps } = await startReceiver(() => ({ ms: 5 }));
  const names = Array.from({ length: 120 }, (_, number) => `m${number}`);
  await record(inspected, ...names);
  const args = ['--to', url, '--after', 'start', '--cursor-file', fileOf('cursor')];
  for (const least of [20, 60]) {
    const cut = listen(inspected.url, ...args);
    await eventually('some have come', () => media().length >= least);
    cut.kill('SIGKILL');
    await cut.ended;
  }
  const rest = listen(inspected.url, ...args);
  await eventually('all have come', () => media().includes('m119'));
  rest.kill('SIGINT');
  const { code, stdout } = await rest.ended;
  expect(code).toBe(0);
  expect(stdout).toMatch(/ {2}media_available {2}media:m119 {2}accepted {2}\d+ ms\n$/);
  const twice = media().filter((name, at) => name === media()[at - 1]);
  expect(twice.length).toBeLessThanOrEqual(2);
  expect([[...new Set(media())], media().length - twice.length, overlaps]).toEqual([names, 120, []]);
});

test('sends again what is not taken before the next, and a Ctrl-C keeps the cursor before it', async () => {
  const inspected = await start({}, TOKENS);
  let status = 503;
  const { url, media } = await startReceiver((_number, { media_id }) => (media_id === 'b' ? { status } : {}));
  await record(inspected, 'a', 'b', 'c');
  const args = ['--to', url, '--after', 'start', '--cursor-file', fileOf('cursor')];
  const refused = listen(inspected.url, ...args);
  await refused.says('not taken: 503; trying again in 2 s');
  refused.kill('SIGINT');
  expect(await refused.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/^.*media:a .*\n$/) });
  status = 200;
  expect((await listen(inspected.url, ...args, '--limit', '2').ended).code).toBe(0);
  expect(media()).toEqual(['a', 'b', 'b', 'b', 'c']);
});

test('says that there is no connection, tries again, and goes on where it was', async () => {
  const ADMIN_PORT = String(await freePort());
  const listening = listen(`http://127.0.0.1:${ADMIN_PORT}`, '--after', 'start', '--limit', '2');
  await listening.says('again in 1 s');
  const first = await start({}, { ...TOKENS, ADMIN_PORT });
  await record(first, 'a');
  await listening.says('connected to');
  await first.service.stop();
  await listening.says('connected to http://127.0.0.1:');
  const again = await start({}, { ...TOKENS, ADMIN_PORT, ...first.env });
  await record(again, 'b');
  const { code, stdout, stderr } = await listening.ended;
  expect([code, stdout.match(/media:\w/g)]).toEqual([0, ['media:a', 'media:b']]);
  expect(stderr.match(/no connection to .*ECONNREFUSED.*; trying again/g)?.length).toBeGreaterThanOrEqual(1);
});

/** Listens to a server that answers as it likes. */
async function listenTo(answer: RequestListener, ...args: readonly string[]) {
  const { url } = await listeningOn(createServer(answer));
  return listen(url, ...args);
}

/** A page of one event. */
const page = (cursor: string) =>
  `${toLine({ ...verified({ media_id: 'a' }), receivedAt: 0, others: { cursor } })}\n`;

test.each([
  ['answer', '$(id)', page('1-1')],
  ['event', '1-1', page('`id`')],
])('ends with 1 and prints no cursor to paste, when that of an %s is odd', async (_, cursor, body) => {
  const listening = await listenTo((_req, res) => void res.setHeader('X-Cursor', cursor).end(body));
  const { code, stdout, stderr } = await listening.ended;
  expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/cursor/)]);
  expect(stderr).not.toMatch(/--after|\bid\b/);
});
test('ends with 1, when the token or the cursor is refused, or no secret signs, and shows no token', async () => {
  const inspected = await start({}, TOKENS);
  await record(inspected, 'a');
  const refused = listen(inspected.url, '--token-file', write('wrong', 'a-wrong-token-of-24-chars'));
  const place = write('place', '{"cursor":"7-mhzzzzzz"}');
  const foreign = listen(inspected.url, '--cursor-file', place);
  const env = { WEBHOOK_SECRET: '', DATABASE_URL: `sqlite:${fileOf('none.db')}` };
  const args = ['--to', 'http://127.0.0.1:9/', '--after', 'start', '--token-file', fileOf('token')];
  const unsigned = startCli(['listen', '--from', inspected.url, ...args], { env });
  for (const [run, why] of [
    [refused, /answered 401 \(.*ADMIN_TOKEN.*: give its ADMIN_READ_TOKEN in --token-file/],
    [foreign, /^[^\n]*answered 410 \(.*after=\S+ goes on\)/],
    [unsigned, /there is no secret to sign with for webhook webhook-1/],
  ] as const) {
    expect(await run.ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(why) });
    expect(run.said()).not.toMatch(/a-wrong|those-who/);
  }
  const misspelt = listen(inspected.url, '--kind', 'media_avail');
  expect(await misspelt.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('media_available') });
  expect(existsSync(fileOf('none.db'))).toBe(false);
  expect(readFileSync(fileOf('token'), 'utf8')).toBe(READS);
});
