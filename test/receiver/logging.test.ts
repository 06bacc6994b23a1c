import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import request from 'supertest';
import { KitError } from '../../src/base/errors.ts';
import { deliver, notification, PATH, SECRET, send, sendWithToken } from '../support/genuine.ts';
import { partsOf, tokenOf } from '../support/hs256.ts';
import { exchange, postText } from '../support/raw-http.ts';
import { type ReceiverFixture, receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const FALLBACK = 'the fallback secret that nobody may see';
const OTHER = 'another secret that nobody may see';
const body = notification();
const text = JSON.stringify(body);

const TOKENS = [
  tokenOf(text, SECRET),
  tokenOf(text, OTHER),
  tokenOf('{"iat":1}', SECRET),
  tokenOf(text, SECRET, { header: { alg: 'none' } }),
  tokenOf(text, SECRET, { header: { alg: 'HS512' }, hmac: 'HS512' }),
  tokenOf(text, SECRET, { header: { alg: 'HS256', crit: ['x'] } }),
  'malformed-but-perhaps-secret',
];
const AUTHORIZATIONS = [
  'Basic dXNlcjpodW50ZXIy',
  'Bearer two words-that-are-secret',
  'raw-api-secret-as-authorization',
];
const QUERY = 'token=in-the-query&access_token=also-there';

/** One request of every kind, good and bad. */
async function everyKindOfRequest({ app }: ReceiverFixture): Promise<number[]> {
  const answers = [
    ...TOKENS.map((token) => sendWithToken(app, body, token)),
    ...AUTHORIZATIONS.map((authorization) => send(app, text, authorization)),
    send(app, 'no JSON', `Bearer ${TOKENS[0]}`),
    send(app, 'x'.repeat(70_000), `Bearer ${TOKENS[0]}`),
    send(app, text),
    request(app)
      .post(PATH)
      .set('Authorization', `Bearer ${TOKENS[0]}`)
      .set('Content-Encoding', 'gzip')
      .send(Buffer.from('x')),
    request(app)
      .post(PATH)
      .set('Authorization', `Bearer ${TOKENS[0]}`)
      .set('Content-Encoding', 'gzip')
      .send(gzipSync(text)),
    request(app).get(`${PATH}?${QUERY}`).set('Authorization', `Bearer ${TOKENS[0]}`),
    request(app).post(`${PATH}?${QUERY}`).set('Authorization', `Bearer ${TOKENS[0]}`).send(text),
    request(app).get(`/nowhere?${QUERY}`).set('Authorization', `Bearer ${TOKENS[0]}`),
    request(app).get(`/healthz?${QUERY}`).set('Cookie', 'session=in-the-cookie'),
    request(app).get(`/readyz?${QUERY}`).set('Authorization', `Bearer ${TOKENS[0]}`),
    deliver(app, notification({ webhook_id: 'of the fallback' }), FALLBACK),
    deliver(app, notification({ event: 'unknown' })),
    deliver(app, notification()).set('X-Forwarded-For', '203.0.113.1').set('Forwarded', 'for=203.0.113.1'),
    deliver(app, notification(), OTHER)
      .set('Forwarded', 'for=203.0.113.1')
      .set('X-Forwarded-For', 'no address'),
  ];
  const statuses = await Promise.all(answers.map(async (answer) => (await answer).status));
  const headers = [
    `Authorization: Bearer ${TOKENS[0]}`,
    `Authorization: ${AUTHORIZATIONS[0]}`,
    'Content-Length: 2',
  ];
  await exchange(app, postText(`${PATH}?${QUERY}`, headers, '{}'));
  return statuses;
}

/** Everything that must never be written down, and each part of it that would be enough. */
const SECRETS = [
  SECRET,
  FALLBACK,
  OTHER,
  ...TOKENS.flatMap((token) => [token, partsOf(token).signature]),
  ...AUTHORIZATIONS.flatMap((authorization) => [authorization, ...authorization.split(' ').slice(1)]),
  'in-the-query',
  'also-there',
  'access_token',
  'in-the-cookie',
].filter((secret) => secret !== '' && secret !== 'two');

let printed: unknown[][] = [];
beforeEach(() => {
  printed = [];
  for (const method of ['log', 'info', 'warn', 'error', 'debug'] as const) {
    jest.spyOn(console, method).mockImplementation((...given) => void printed.push(given));
  }
});
afterEach(() => {
  jest.restoreAllMocks();
});

describe('the log, at its most talkative', () => {
  test('has no token, secret, Authorization or query string in any line, after every kind of request', async () => {
    const receiver = await start({ secrets: { '2yW4KmiG': [SECRET], other: [OTHER] }, fallback: FALLBACK });
    const statuses = await everyKindOfRequest(receiver);
    expect(new Set(statuses)).toEqual(new Set([200, 400, 401, 404, 405, 413]));
    const written = receiver.log.lines.join('');
    expect(receiver.log.lines.length).toBeGreaterThanOrEqual(statuses.length);
    for (const secret of SECRETS) expect(written).not.toContain(secret);
    expect(written.toLowerCase()).not.toContain('authorization"');
  });

  test('has none of them either, when the store fails or throws', async () => {
    const receiver = await start({
      wrap: (store) =>
        storeWith(store, {
          record: () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'no disk')),
          quarantine: () => Promise.reject(new Error('no disk')),
          ping: () => Promise.reject(new Error('no disk')),
        }),
    });
    const statuses = await everyKindOfRequest(receiver);
    expect(statuses).toContain(503);
    const written = receiver.log.lines.join('');
    for (const secret of SECRETS) expect(written).not.toContain(secret);
  });

  test('has none of them either, when sources are throttled or the service is shutting down', async () => {
    const throttled = await start({ options: { rejectLimit: 1, trustProxy: 1 } });
    expect(await everyKindOfRequest(throttled)).toContain(429);
    const draining = await start({ options: { isDraining: () => true } });
    expect(await everyKindOfRequest(draining)).toContain(503);
    const written = [...throttled.log.lines, ...draining.log.lines].join('');
    for (const secret of SECRETS) expect(written).not.toContain(secret);
  });

  test.each([
    ['Forwarded', 'for=203.0.113.1', 0],
    ['X-Forwarded-For', '203.0.113.1', 0],
    ['X-Forwarded-For', 'no address', 1],
  ])(
    'is the only place that is written to, when a stranger sends %s: %s, with %i proxies trusted',
    async (name, value, trustProxy) => {
      const { app } = await start({ options: { trustProxy } });
      expect((await deliver(app, body, OTHER).set(name, value)).status).toBe(401);
      expect(printed).toEqual([]);
    },
  );
});

describe('a line of the log', () => {
  test('about a request, when it is done, names its id, method, path and status', async () => {
    const { app, log } = await start();
    const response = await deliver(app, notification());
    expect(log.withMessage('request completed')).toMatchObject([
      { reqId: response.headers['x-request-id'], req: { method: 'POST', path: PATH }, res: { status: 200 } },
    ]);
  });

  test('about a refusal, with the request id, gives the reason and the first differing path', async () => {
    const { app, log } = await start();
    const response = await sendWithToken(
      app,
      body,
      tokenOf(JSON.stringify({ ...body, site_id: 'x' }), SECRET),
    );
    expect(log.withMessage('notification refused')).toMatchObject([
      {
        reqId: response.headers['x-request-id'],
        reason: 'claims differ',
        path: '/site_id',
        webhookId: '2yW4KmiG',
      },
    ]);
  });

  test('about an accepted notification, with the request id, names its event', async () => {
    const { app, log } = await start();
    const response = await deliver(app, notification());
    expect(log.withMessage('notification recorded')).toMatchObject([
      { reqId: response.headers['x-request-id'], status: 'accepted', id: response.body.id },
    ]);
  });
});
