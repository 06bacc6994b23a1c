import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { forward, keyOf, signatureOf } from '../../src/recipes/forward.ts';
import { everyCrash, type TestReceiver, testReceiver } from '../../src/testing/index.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const started: TestReceiver[] = [];

interface Arrived {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The other system: it answers as it is told to, then with 204. */
let server: Server;
let url: string;
let arrived: Arrived[];
let answers: { readonly status: number; readonly headers?: Readonly<Record<string, string>> }[];

beforeEach(async () => {
  arrived = [];
  answers = [];
  server = createServer(async (request, response) => {
    arrived.push({ headers: request.headers, body: await text(request) });
    const { status, headers } = answers.shift() ?? { status: 204, headers: {} };
    response.writeHead(status, headers).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
});
afterEach(async () => {
  for (const kit of started.splice(0)) await kit.stop();
  server.closeAllConnections();
  server.close();
});

async function begin(): Promise<TestReceiver> {
  const kit = await testReceiver({ handlers: forward({ url, secret: SECRET, now: () => kit.now() }) });
  started.push(kit);
  return kit;
}

test('signatures are those of Standard Webhooks, when its published example is signed', () => {
  const content = 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}';
  expect(signatureOf(content, keyOf(SECRET))).toBe('g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('every notification goes on, of kinds that nobody knows too, signed, with its id', async () => {
  const kit = await begin();
  await kit.deliver('media_available', { media_id: 'UUhbHm6C' });
  await kit.deliverBody({
    event: 'media_invented',
    webhook_id: 'any',
    site_id: 's',
    event_time: '2026-01-01T00:00:00Z',
  });
  await kit.settled();
  const events = await kit.events();
  const bodies = new Map(arrived.map(({ headers, body }) => [headers['webhook-id'], JSON.parse(body)]));
  expect(bodies).toEqual(new Map(events.map(({ id, notification }) => [id, notification])));
  for (const { headers, body } of arrived) {
    const id = String(headers['webhook-id']);
    const signature = signatureOf(`${id}.${headers['webhook-timestamp']}.${body}`, keyOf(SECRET));
    expect(headers['webhook-signature']).toBe(`v1,${signature}`);
  }
});

test.each([
  { status: 429, headers: { 'Retry-After': '7200' }, waits: 7_200_000 },
  { status: 503, headers: { 'Retry-After': 'Thu, 01 Jan 2026 03:00:00 GMT' }, waits: 10_800_000 },
  { status: 500, headers: {}, waits: 500 },
])('an answer of $status with $headers is tried again after $waits ms', async ({ waits, ...answer }) => {
  answers = [answer];
  const kit = await begin();
  await kit.deliver('media_available');
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled', starts: 2, attempts: 1 });
  const [first, second] = await kit.attempts();
  expect(first).toMatchObject({ outcome: 'retry', error: `the other system answered ${answer.status}` });
  expect(Math.abs((second?.startedAt ?? 0) - (first?.startedAt ?? 0) - waits)).toBeLessThan(1000);
});

test.each(['0', '1.5', '-1', 'soon', 'Thu, 01 Jan 2015 00:00:00 GMT'])(
  'an answer of 503 with a Retry-After of %s is tried again after a backoff, which grows',
  async (header) => {
    answers = Array.from({ length: 3 }, () => ({ status: 503, headers: { 'Retry-After': header } }));
    const kit = await begin();
    await kit.deliver('media_available');
    await kit.settled();
    const starts = (await kit.attempts()).map(({ startedAt }) => startedAt);
    const waits = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(waits.map((wait) => Math.round(wait / 250))).toEqual([3, 6, 12]);
  },
);

test.each([302, 400, 401, 410])('an answer of %s is the end of it', async (status) => {
  answers = [{ status, headers: { Location: `${url}?secret` } }];
  const kit = await begin();
  await kit.deliver('media_available');
  await kit.settled();
  expect(await kit.event()).toMatchObject({
    status: 'dead',
    attempts: 1,
    lastError: `the other system answered ${status}`,
  });
});

test('a system that does not answer is tried again until it does', async () => {
  server.once('request', (request) => request.socket.destroy());
  const kit = await begin();
  await kit.deliver('media_available');
  await kit.settled();
  expect(await kit.event()).toMatchObject({ status: 'handled', attempts: 2 });
});

test('the other system can tell a repeat by its id, wherever the process dies', async () => {
  await everyCrash(
    async (start) => {
      arrived = [];
      const kit = await start({ handlers: forward({ url, secret: SECRET }) });
      await kit.deliver('media_available');
      await kit.deliver('media_deleted');
    },
    async (kit) => {
      const ids = new Set(arrived.map(({ headers }) => headers['webhook-id']));
      expect([...ids]).toEqual((await kit.events()).map(({ id }) => id));
    },
  );
});

test.each([
  { url: 'ftp://x.test', secret: SECRET, message: 'url must be an http or https URL' },
  { url: 'https://user:hunter2@x.test/hook', secret: SECRET, message: 'without a user name and password' },
  { url: 'https://hunter2@x.test/hook', secret: SECRET, message: 'without a user name and password' },
  { url: 'https://x.test', secret: 'whsec_short', message: 'secret must be whsec_' },
  { url: 'https://x.test', secret: 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', message: 'secret must be whsec_' },
])('options that cannot be used are refused: $message', ({ message, ...options }) => {
  expect(() => forward(options)).toThrow(message);
  expect(() => forward(options)).toThrow(TypeError);
  expect(() => forward(options)).not.toThrow(/MfKQ9|hunter2/);
});
