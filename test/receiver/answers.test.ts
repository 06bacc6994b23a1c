import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { KitError } from '../../src/base/errors.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, PATH, SECRET, send } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { only } from '../support/only.ts';
import { chunked, exchange, firstAnswer, postText, statusOf } from '../support/raw-http.ts';
import {
  type ReceiverSetup,
  receiverForAllTests,
  receiversForEachTest,
  storeWith,
  withStore,
} from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const shared = receiverForAllTests();
const text = JSON.stringify(notification());
const genuine = `Bearer ${tokenOf(text, SECRET)}`;
const forged = `Bearer ${tokenOf(text, 'not the secret')}`;
const tooLarge = `{"a":"${'x'.repeat(70_000)}"}`;

const away = () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'the disk /dev/sda1 is full'));

/** A request, by what is wrong with it. */
interface Sent {
  readonly method?: 'put';
  readonly setup?: ReceiverSetup;
  readonly authorization?: string | undefined;
  readonly body?: string | Buffer;
  readonly encoding?: string;
}

/** The rows of the table of answers, in its order: what is wrong, the answer, and a header that it must have. */
const ROWS: readonly (readonly [what: string, sent: Sent, status: number, error: string, header?: object])[] =
  [
    ['the method', { method: 'put' }, 405, 'only POST is allowed here', { allow: 'POST' }],
    ['a stop', { setup: { phase: 'closed' } }, 503, 'shutting down', { 'retry-after': '5' }],
    [
      'no Authorization',
      { authorization: undefined },
      401,
      'an Authorization header of the form "Bearer TOKEN" is needed',
      { 'www-authenticate': 'Bearer' },
    ],
    ['the size', { body: tooLarge }, 413, 'the body is too large'],
    ['compression', { encoding: 'gzip' }, 400, 'the body is compressed'],
    ['the text', { body: 'no JSON' }, 400, 'the body is not a JSON object in UTF-8'],
    [
      'the signature',
      { authorization: forged },
      401,
      'the notification could not be verified',
      { 'www-authenticate': 'Bearer' },
    ],
    [
      'a store that cannot commit',
      { setup: withStore({ queue: { record: away } }) },
      503,
      'not recorded',
      { 'retry-after': '5' },
    ],
  ];

/** Sends a request that has several things wrong with it; where two differ in the same part, the first counts. */
async function answerTo(wrong: readonly Sent[]) {
  const sent: Sent = Object.assign({ authorization: genuine, body: text }, ...wrong.toReversed());
  const { app, events } = sent.setup ? await start(sent.setup) : shared();
  const { method = 'post', authorization, body = text, encoding } = sent;
  const asked = request(app)[method](PATH).set('Content-Type', 'application/octet-stream');
  if (authorization !== undefined) asked.set('Authorization', authorization);
  if (encoding !== undefined) asked.set('Content-Encoding', encoding);
  const answer = await asked.send(Buffer.from(body));
  expect(await events()).toEqual([]);
  return answer;
}

describe('the table of answers', () => {
  test.each(ROWS)('refuses a request for %s alone', async (_what, sent, status, error, headers = {}) => {
    const answer = await answerTo([sent]);
    expect([answer.status, answer.body]).toEqual([status, { error }]);
    expect(answer.headers).toMatchObject(headers);
  });

  const pairs = ROWS.flatMap((first, index) =>
    ROWS.slice(index + 1).map((second) => [first[0], second[0], first, second] as const),
  );
  test.each(pairs)('goes by %s before %s', async (_first, _second, first, second) => {
    const answer = await answerTo([first[1], second[1]]);
    expect([answer.status, answer.body]).toEqual([first[2], { error: first[3] }]);
  });

  test('accepts a new notification with 200 and the id of the event that is on disk', async () => {
    const { app, events, openAnother } = await start();
    const answer = await deliver(app, text);
    const stored = only(await events());
    expect([answer.status, answer.text]).toEqual([200, `{"status":"accepted","id":"${stored.id}"}`]);
    expect(await (await openAnother()).queue.event({ id: stored.id })).toEqual(stored);
    expect((await deliver(app, text)).text).toBe(`{"status":"duplicate","id":"${stored.id}"}`);
    expect(only(await events()).deliveries).toBe(2);
  });

  test.each([
    ['by a bug', new Error('a bug at /srv/app')],
    ['for good', new KitError('STORE_UNUSABLE', 'another key at /srv/app')],
  ])('answers 500 and no more, when the store fails %s', async (_how, error) => {
    const { app } = await start(withStore({ queue: { record: () => Promise.reject(error) } }));
    const answer = await deliver(app, text);
    expect([answer.status, answer.body]).toEqual([500, { error: 'internal error' }]);
  });
});

describe('a body', () => {
  const limited = { env: { BODY_LIMIT: '1024' } };
  const ofLength = (length: number) => {
    const rest = length - JSON.stringify(notification({ title: '' })).length;
    return JSON.stringify(notification({ title: 'x'.repeat(rest) }));
  };

  test('is taken, when it is exactly as large as allowed, and refused, when it has a byte more', async () => {
    const { app } = await start(limited);
    expect((await deliver(app, ofLength(1024))).status).toBe(200);
    expect((await deliver(app, ofLength(1025))).status).toBe(413);
  });

  test('nested deeper than 64 levels is refused with 400, though it is rightly signed', async () => {
    const deep = `{"a":${'['.repeat(64)}${']'.repeat(64)}}`;
    const answer = await deliver(shared().app, deep);
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'the body is nested deeper than 64 levels' },
    ]);
  });

  test.each(['GZIP', 'br', 'gzip, identity', 'foo'])('in %s is refused with 400', async (encoding) => {
    expect((await answerTo([{ encoding }])).body).toEqual({ error: 'the body is compressed' });
  });

  const types = ['application/json', 'text/plain', 'application/x-www-form-urlencoded', 'nonsense', ''];
  test.each(types)('of the content type %p is taken', async (type) => {
    const { app } = await start();
    const answer = request(app).post(PATH).set('Authorization', genuine).set('Content-Type', type);
    expect((await answer.serialize((body) => body).send(text)).status).toBe(200);
  });

  test('in chunks is taken as one text, cut within a character as well, and refused over the limit', async () => {
    const { app, events } = await start(limited);
    const body = JSON.stringify(notification({ title: 'ä😀' }));
    const bytes = Buffer.from(body);
    const chunks = Array.from(bytes, (byte) => [...Buffer.from('1\r\n'), byte, ...Buffer.from('\r\n')]);
    const head = (signed: string) =>
      postText(PATH, [`Authorization: Bearer ${tokenOf(signed, SECRET)}`, 'Transfer-Encoding: chunked']);
    const whole = Buffer.concat([
      Buffer.from(head(body)),
      Buffer.from(chunks.flat()),
      Buffer.from('0\r\n\r\n'),
    ]);
    expect(statusOf(await exchange(app, whole))).toBe(200);
    expect(only(await events()).body).toBe(body);
    const large = ofLength(1025);
    expect(statusOf(await exchange(app, head(large) + chunked(...large)))).toBe(413);
  });

  test.each([
    ['405', 'GET', genuine, ['Content-Length: 60000']],
    ['401', 'POST', 'Basic x', ['Content-Length: 60000']],
    ['401', 'POST', 'Basic x', ['Transfer-Encoding: chunked']],
    ['413', 'POST', genuine, ['Content-Length: 70000']],
    ['400', 'POST', genuine, ['Content-Length: 60000', 'Content-Encoding: gzip']],
  ])(
    'is not waited for, and its connection closed if it might have no end, when the head is enough for %s: %#',
    async (status, method, authorization, headers) => {
      const head = postText(PATH, [`Authorization: ${authorization}`, ...headers], '', 'keep-alive');
      const answer = await firstAnswer(shared().app, head.replace('POST', method));
      expect(statusOf(answer)).toBe(Number(status));
      const mayBeEndless = headers.some((header) => /chunked|70000/.test(header));
      expect(/^Connection: close\r$/m.test(answer)).toBe(mayBeEndless);
    },
  );
});

const numbered = (number: number) => notification({ media_id: `media${number}` });

/** A store whose commits wait until they are released. */
function heldStore() {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const state = { waiting: 0, release };
  const wrap = (store: EventStore) =>
    storeWith(store, {
      queue: {
        async record(...given) {
          state.waiting++;
          await released;
          return store.queue.record(...given);
        },
      },
    });
  return { state, wrap };
}

describe('a store that is slow', () => {
  test('has each request wait, and acknowledges it once its commit is on disk', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap });
    let answered = 0;
    const waiting = [1, 2, 3].map(async (number) => {
      const { status } = await deliver(app, numbered(number));
      answered++;
      return status;
    });
    await eventually('three wait for their commit', () => state.waiting === 3);
    expect([answered, await events()]).toEqual([0, []]);
    state.release();
    expect(await Promise.all(waiting)).toEqual([200, 200, 200]);
    expect(await events()).toHaveLength(3);
  });

  test('makes the answer 503 with Retry-After, when as many wait as may, and 200 once they are through', async () => {
    const { state, wrap } = heldStore();
    const { app, events } = await start({ wrap, env: { MAX_WAITING_ACKS: '2' } });
    const waiting = Promise.allSettled([1, 2].map((number) => deliver(app, numbered(number))));
    await eventually('two wait for their commit', () => state.waiting === 2);
    const { status, body, headers } = await deliver(app, numbered(3), 'whatever');
    expect([status, body, headers['retry-after']]).toEqual([503, { error: 'overloaded' }, '5']);
    state.release();
    expect(await waiting).toMatchObject([{ value: { status: 200 } }, { value: { status: 200 } }]);
    expect((await deliver(app, numbered(3))).status).toBe(200);
    expect(await events()).toHaveLength(3);
  });

  test('makes the answer 503 after 8 s, and the receiver unready after one, until the commit comes, which keeps its place and counts', async () => {
    const { state, wrap } = heldStore();
    const clock = new VirtualClock();
    const { app, log } = await start({ wrap, clock, env: { MAX_WAITING_ACKS: '1' } });
    const ready = async () => (await request(app).get('/readyz')).status;
    const waiting = Promise.allSettled([deliver(app, numbered(1))]);
    await eventually('it waits for its commit', () => state.waiting === 1);
    expect(await ready()).toBe(200);
    await clock.advance(1001);
    expect(await ready()).toBe(503);
    await clock.advance(7000);
    const late = { status: 503, headers: { 'retry-after': '5' }, body: { error: 'not recorded' } };
    expect(await waiting).toMatchObject([{ value: late }]);
    expect(log.withMessage('request failed')).toMatchObject([{ error: expect.stringContaining('8 s') }]);
    expect(await ready()).toBe(503);
    expect((await deliver(app, numbered(2))).body).toEqual({ error: 'overloaded' });
    state.release();
    await eventually('its commit has come', async () => (await ready()) === 200);
    expect((await deliver(app, numbered(1))).body.status).toBe('duplicate');
  });
});

test('/healthz says 200, whatever the store does, at a stop as well', async () => {
  const { app } = await start({ phase: 'closed', ...withStore({ queue: { ping: away } }) });
  const { status, body } = await request(app).get('/healthz');
  expect([status, body]).toEqual([200, { status: 'ok' }]);
});

const readiness = async (setup: Parameters<typeof start>[0]) => {
  const { status, body } = await request((await start(setup)).app).get('/readyz');
  return [status, body];
};

test.each([
  ['the store commits', {}, 200, { status: 'ready' }],
  ['the service drains', { phase: 'draining' as const }, 503, { error: 'shutting down' }],
  ['the service is closed', { phase: 'closed' as const }, 503, { error: 'shutting down' }],
  ['the store cannot commit', withStore({ queue: { ping: away } }), 503, { error: 'not recorded' }],
  [
    'the store hangs',
    withStore({ queue: { ping: () => new Promise(() => {}) } }),
    503,
    { error: 'the store is busy' },
  ],
])('/readyz answers, when %s', async (_what, setup, status, body) => {
  expect(await readiness(setup)).toEqual([status, body]);
});

test('every answer has a random X-Request-Id of its own, and not the one that was sent', async () => {
  const { app } = shared();
  const answers = [
    await request(app).get('/healthz').set('X-Request-Id', 'mine'),
    await request(app).get('/nowhere'),
    await request(app).get(PATH),
    await deliver(app, notification(), 'not the secret'),
    await send(app, 'x'.repeat(70_000), 'Bearer x'),
    await deliver(app, notification()),
  ];
  const ids = answers.map(({ headers }) => headers['x-request-id']);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
});

test.each([
  ['1', 'f00-BA7_.:=/+@', true],
  ['2', 'x'.repeat(128), true],
  ['1', 'x'.repeat(129), false],
  ['1', 'of a client', false],
  ['0', 'f00', false],
])('with TRUST_PROXY %s, the X-Request-Id %j of a proxy is kept: %s', async (TRUST_PROXY, id, isKept) => {
  const { app, events, log } = await start({ env: { TRUST_PROXY } });
  const { headers } = await deliver(app, notification()).set('X-Request-Id', id);
  const expected = isKept ? id : expect.stringMatching(/^[0-9a-f-]{36}$/);
  expect(headers['x-request-id']).toEqual(expected);
  expect(await events()).toMatchObject([{ request: headers['x-request-id'] }]);
  expect(log.withMessage('notification recorded')).toMatchObject([{ request: headers['x-request-id'] }]);
});
