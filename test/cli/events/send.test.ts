import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { systemClock } from '../../../src/base/clock.ts';
import type { EventStore } from '../../../src/store/event-store.ts';
import { openStore } from '../../../src/store/open.ts';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { eventsIn } from '../../support/events-in.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { type RunningService, runService } from '../../support/running-service.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine
const media = ['send', '--kind', 'media_available', '--media', 'UUhbHm6C'];
const withSecret = { WEBHOOK_SECRET: SECRET };

let receiver: RunningService;
let recorded: EventStore;
beforeAll(async () => {
  const env = { ...withSecret, HEADERS_TIMEOUT_MS: '500', REQUEST_TIMEOUT_MS: '500' };
  receiver = await runService({}, env, { threads: OWN_THREADS });
  recorded = await openStore({ url: `sqlite:${receiver.path}`, clock: systemClock, threads: false });
});
afterAll(async () => {
  await recorded.close();
  await receiver.dispose();
});

test.each([
  [undefined, 200],
  ['forged', 401],
  ['alg-none', 401],
  ['tampered', 401],
  ['iat', 401],
  ['oversized', 413],
  ['truncated', 400],
  ['slow', 408],
])('is answered as it must be, when sent with fault %s, with %i, and ends with 0', async (fault, status) => {
  const before = await recorded.count({});
  const args = [...media, '--to', `${receiver.url}/webhooks/media`, '--json'];
  const run = await desk().events(fault ? [...args, '--fault', fault] : args, { env: withSecret });
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(run.stdout)).toMatchObject({ status, fault: fault ?? null });
  expect((await recorded.count({})) - before).toBe(fault ? 0 : 1);
});

test('goes to the receiver of the environment for the only webhook that has a secret, when nothing else is said', async () => {
  await desk().fill(0);
  const service = await desk().serveHere();
  const args = [
    'send',
    '--kind',
    'thumbnail_created',
    '--media',
    'm1',
    '--thumbnail',
    't1',
    '--event-time',
    '2026-11-19T12:00',
  ];
  const { stdout } = await desk().events(args, {
    env: { HOST: '127.0.0.1', PORT: new URL(service.url).port },
  });
  expect(stdout).toMatch(/^200 in \d+ ms: \{"status":"accepted","id":"\S+"\}\n$/);
  const [event] = await eventsIn(await desk().store(), {}, 1);
  expect(JSON.parse(event?.body ?? '')).toEqual({
    event: 'thumbnail_created',
    media_id: 'm1',
    thumbnail_id: 't1',
    webhook_id: 'webhook1',
    site_id: 'site0001',
    event_time: '2026-11-19T12:00:00+00:00',
  });
});

test('sends exactly the file, when a body is given, with the secret from stdin', async () => {
  const body = '{ "event": "media_renamed",\n  "webhook_id": "other001" }';
  const file = desk().write('body.json', body);
  const args = ['send', '--body', file, '--to', `${receiver.url}/webhooks/media`, '--secret-file', '-'];
  expect(await desk().events(args, { stdin: `${SECRET}\n` })).toMatchObject({ code: 0 });
  expect((await eventsIn(recorded, { webhook: 'other001' }, 1))[0]?.body).toBe(body);
});

test('ends with 1, when the receiver refuses a genuine one, with its answer', async () => {
  const service = await desk().serveHere();
  const run = await desk().events([...media, '--to', `${service.url}/webhooks/media`], { env: withSecret });
  expect(run).toMatchObject({ code: 1, stderr: 'hookkit: the receiver did not take the notification\n' });
  expect(run.stdout).toMatch(/^401 in \d+ ms: /);
});

test.each([
  [
    'the path is wrong',
    '/webhooks/medias',
    404,
    'nothing takes notifications there: correct the path of --to',
  ],
  [
    'it cannot record',
    '/webhooks/media',
    503,
    'the receiver failed, and so has not refused the notification: send it again once it works',
  ],
])('ends with 1, when a broken one is not refused for what it is: %s', async (_, path, status, why) => {
  const server = createServer((_req, res) => void res.writeHead(status).end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const args = [...media, '--to', `http://127.0.0.1:${port}${path}`, '--fault', 'forged'];
  const run = await desk().events(args, { env: withSecret });
  expect(run).toMatchObject({ code: 1, stderr: `hookkit: ${why}\n` });
  server.close();
});

test('ends with 1, when a receiver neither answers a slow body nor cuts it off in time', async () => {
  const args = [...media, '--to', `${receiver.url}/webhooks/media`, '--fault', 'slow', '--timeout', '100ms'];
  const run = await desk().events(args, { env: withSecret });
  expect(run).toMatchObject({ code: 1, stderr: 'hookkit: there was no answer\n' });
  expect(run.stdout).toMatch(/^no answer after \d+ ms: no answer within 0\.1 s\n$/);
});

test('ends with 1, when no server listens, and says why', async () => {
  const run = await desk().events([...media, '--to', 'http://127.0.0.1:1/', '--fault', 'forged'], {
    env: withSecret,
  });
  expect(run).toMatchObject({ code: 1, stderr: 'hookkit: there was no answer\n' });
  expect(run.stdout).toMatch(/^no answer after \d+ ms: ECONNREFUSED\n$/);
});

test.each([
  [['send', '--kind', 'media_available'], /media_available needs --media/],
  [
    ['send', '--kind', 'media_available', '--media', 'm', '--track', 't'],
    /media_available has no track_id: leave --track out/,
  ],
  [['send', '--kind', 'media_availble', '--media', 'm'], /must be one of media_created, /],
  [['send'], /give either --kind with its ids, or --body/],
  [['send', '--body', 'nowhere'], /cannot read the body: ENOENT/],
  [media, /no secret for webhook webhook1: give --secret-file, or WEBHOOK_SECRET/],
  [[...media, '--fault', 'evil'], /forged, alg-none, tampered, iat, oversized, truncated, slow/],
])('says what is wrong, when called as events %j, and ends with 2', async (args, message) => {
  const { code, stdout, stderr } = await desk().events(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toMatch(message);
});
