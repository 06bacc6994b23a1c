import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import request from 'supertest';
import { bodyOf } from '../../../src/cli/events/body-options.ts';
import { send } from '../../../src/cli/events/send.ts';
import { keyOf, signNotification } from '../../../src/notification/token.ts';
import { readBody } from '../../../src/replay/compose.ts';
import { deskForEachTest, SECRET } from '../../support/event-desk.ts';
import { eventually } from '../../support/eventually.ts';
import { hmacOf } from '../../support/hs256.ts';
import { present } from '../../support/only.ts';
import { receiverForAllTests } from '../../support/receiver-fixture.ts';

const desk = deskForEachTest();
jest.setTimeout(90_000); // processes on a busy machine
const env = { WEBHOOK_SECRET: SECRET };

interface Arrived {
  readonly body: Buffer;
  readonly token: string;
}

/** What came in at a receiver that takes every byte. */
let arrived: Arrived[] = [];
let url = '';
let close = async () => {};
beforeEach(async () => {
  arrived = [];
  const server = createServer({ maxHeaderSize: 1024 * 1024 }, async (req, res) => {
    const token = (req.headers.authorization ?? '').slice('Bearer '.length);
    arrived.push({ body: await buffer(req), token });
    res.end('{"status":"accepted","id":"x"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/media`;
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterEach(() => close());

function save(name: string, bytes: Buffer): string {
  return desk().write(name, bytes);
}

/** Whether a token is signed with a secret over exactly these bytes. */
function isSignedOver(token: string, bytes: Buffer, secret = SECRET): boolean {
  const [header = '', claims = '', signature] = token.split('.');
  const isSame = Buffer.from(claims, 'base64url').equals(bytes);
  return isSame && signature === hmacOf(`${header}.${claims}`, secret);
}

const sound = '{"event":"media_renamed","webhook_id":"webhook1"}';
const NO_OBJECT = '400 (not a JSON object in UTF-8)';
const refusable: readonly (readonly [what: string, body: Buffer, problem: string])[] = [
  ['a byte that is no UTF-8', Buffer.from('{"event":"\xff"}', 'latin1'), NO_OBJECT],
  ['a byte order mark', Buffer.from(`\uFEFF${sound}`), NO_OBJECT],
  ['nesting', Buffer.from(`{"n":${'['.repeat(64)}${']'.repeat(64)}}`), '400 (nested deeper than 64 levels)'],
  ['an array', Buffer.from('[]'), NO_OBJECT],
  ['half an object', Buffer.from('{"n":'), NO_OBJECT],
  ['nothing', Buffer.alloc(0), NO_OBJECT],
  [
    'a byte too many',
    Buffer.from(`{"n":"${'x'.repeat(65_536 - 7)}"}`),
    '413 (it has 65537 bytes, and BODY_LIMIT is 65536)',
  ],
];

test.each(refusable.filter(([what]) => /UTF-8|array|too many$/.test(what)))(
  'sends nothing and says why, when the file has %s, and its very bytes with --as-is',
  async (_what, body, problem) => {
    const file = save('body.json', body);
    const args = ['send', '--body', file, '--to', url];
    expect(await desk().events(args, { env })).toEqual({
      code: 2,
      stdout: '',
      stderr: `hookkit: nothing was sent, as a receiver refuses ${file} with ${problem}: correct it, or send its exact bytes with --as-is\n`,
    });
    expect(arrived).toEqual([]);
    expect(await desk().events([...args, '--as-is'], { env })).toMatchObject({ code: 0, stderr: '' });
    const [only] = arrived;
    expect(only?.body.equals(body)).toBe(true);
    expect(isSignedOver(present(only).token, body)).toBe(true);
  },
);

const receiver = receiverForAllTests({
  secrets: {},
  env: { WEBHOOK_SECRET: SECRET, REJECT_LIMIT: '1000000' },
});

/** What the real receiver answers to a body that is signed as it is. */
async function answerTo(body: Buffer): Promise<number> {
  const token = signNotification(body, keyOf(SECRET));
  const { status } = await request(receiver().app)
    .post('/webhooks/media')
    .set({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' })
    .serialize((same) => same)
    .send(body);
  return status;
}

test.each(refusable.filter(([, , foretold]) => foretold.startsWith('400')))(
  'is refused by the receiver as foretold, when its body has %s and is genuinely signed',
  async (_what, body, foretold) => {
    const { problem } = readBody(body);
    expect(`400 (${problem})`).toBe(foretold);
    expect(await answerTo(body)).toBe(400);
  },
);

test('finds nothing in a body, when and only when the receiver takes it, whatever the bytes', async () => {
  const bytes = fc.oneof(
    fc.json().map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 40 }).map((given) => Buffer.from(given)),
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => Buffer.from(JSON.stringify(value))),
    fc
      .constantFrom('{"a":1,"b":', '{"a":1e', '{"a":0.1')
      .chain((start) => fc.stringMatching(/^[0-9]{0,25}$/).map((rest) => Buffer.from(`${start}${rest}}`))),
  );
  const property = fc.asyncProperty(bytes, async (body) => {
    const isRefused = readBody(body).problem !== undefined;
    expect(await answerTo(body)).toBe(isRefused ? 400 : 200);
  });
  await fc.assert(property);
});

test('keeps every byte, when a marked and invalid text comes on stdin, and tells it in base64', async () => {
  const body = Buffer.concat([
    Buffer.from('\uFEFF{"a":"'),
    Buffer.from([0xff, 0xc0, 0x00]),
    Buffer.from('"}'),
  ]);
  const args = ['send', '--body', '-', '--to', url];
  const refused = await desk().events(args, { env, stdin: body });
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain(`a receiver refuses stdin with ${NO_OBJECT}`);
  const sent = await desk().events([...args, '--as-is', '--json'], { env, stdin: body });
  expect(JSON.parse(sent.stdout)).toMatchObject({ body: null, body_base64: body.toString('base64') });
  expect(arrived.map((one) => one.body.equals(body))).toEqual([true]);
});

test.each([
  ['a sound body', sound.replace('webhook1', 'second01'), []],
  ['a body with a member twice', '{"n":1,"n":2, "webhook_id" : "second01"}', ['--as-is']],
])(
  'is signed with the newest live secret of the webhook that the body names, when several have secrets and it is %s',
  async (_what, text, more) => {
    const store = await desk().store();
    await store.addSecret('first001', 'the-secret-of-the-first-webhook');
    await store.addSecret('second01', 'the-older-secret-of-the-second');
    const stored = Date.now();
    await eventually('the next secret is newer', () => Date.now() > stored);
    await store.addSecret('second01', 'the-newer-secret-of-the-second');
    await store.addSecret('second01', 'the-newest-but-about-to-retire');
    await store.retireSecret('second01', 'the-newest-but-about-to-retire', Date.now() + 3_600_000);
    await store.addSecret('third001', 'the-secret-of-the-third-webhook');
    const body = Buffer.from(text);
    const args = ['send', '--body', save('body.json', body), '--to', url, ...more];
    expect(await desk().events(args)).toMatchObject({ code: 0, stderr: '' });
    expect(isSignedOver(present(arrived[0]).token, body, 'the-newer-secret-of-the-second')).toBe(true);
    await desk().events([...args, '--webhook', 'first001']);
    expect(isSignedOver(present(arrived[1]).token, body, 'the-secret-of-the-first-webhook')).toBe(true);
  },
);

test('names the one webhook whose secret stays, when another one is about to retire, and asks for a name, when two stay', async () => {
  const store = await desk().store();
  await store.addSecret('first001', 'about-to-retire');
  await store.retireSecret('first001', 'about-to-retire', Date.now() + 3_600_000);
  await store.addSecret('second01', 'the-secret-of-the-second');
  const args = ['send', '--kind', 'media_available', '--media', 'm', '--to', url];
  expect(await desk().events(args)).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(present(arrived[0]).body.toString())).toMatchObject({ webhook_id: 'second01' });
  await store.addSecret('third001', 'the-secret-of-the-third');
  const { code, stderr } = await desk().events(args);
  expect({ code, stderr }).toEqual({
    code: 2,
    stderr: 'hookkit: 2 webhooks have a stored secret: name one with --webhook\n',
  });
});

test.each(['forged', 'alg-none', 'slow'])(
  'sends the very bytes, when --fault %s goes with --as-is',
  async (fault) => {
    const body = Buffer.from([0xff]);
    const file = save('body.json', body);
    await desk().events(['send', '--body', file, '--as-is', '--fault', fault, '--to', url], { env });
    expect(arrived.map((one) => one.body.equals(body))).toEqual([true]);
    expect(isSignedOver(present(arrived[0]).token, body)).toBe(fault === 'slow');
  },
);

test.each([
  [
    { kind: 'media_available', media: 'm', asIs: true },
    '--as-is is for --body: a composed body is always valid',
  ],
  ...(['tampered', 'iat', 'oversized', 'truncated'] as const).map(
    (fault) =>
      [
        { body: 'b.json', asIs: true, fault },
        `--fault ${fault} changes the body, and --as-is sends it unchanged: give one of them`,
      ] as const,
  ),
] as const)('says what is wrong, when it is to send %j', async (flags, message) => {
  await expect(send(flags)).rejects.toMatchObject({ code: 'INPUT_INVALID', message });
});

test.each([
  [{ media: 'm' }, 'media'],
  [{ site: 's' }, 'site'],
  [{ eventTime: 1 }, 'event-time'],
])('says what is wrong, when a whole body goes with %j', async (flags, option) => {
  await expect(bodyOf({ body: 'b.json', ...flags })).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: `--body is the whole notification: leave --${option} out`,
  });
});

test('names the missing option, when the body names no webhook and there is no secret for all, and ends with 2', async () => {
  const file = desk().write('b.json', '{"event":"media_renamed"}');
  const message = 'the body names no webhook: give --webhook, --secret-file or WEBHOOK_SECRET';
  const run = await desk().events(['send', '--body', file, '--to', url]);
  expect(run).toEqual({ code: 2, stdout: '', stderr: `hookkit: ${message}\n` });
  expect(arrived).toEqual([]);
});
