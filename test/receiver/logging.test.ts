import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { KitError } from '../../src/base/errors.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { deliver, notification, PATH, SECRET, send, sendWithToken } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import type { LogLines } from '../support/log-lines.ts';
import { type ReceiverFixture, receiversForEachTest, withStore } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const FALLBACK = 'the fallback secret that nobody may see';
const OTHER = 'another secret that nobody may see';
const body = notification();
const text = JSON.stringify(body);
const away = () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'the disk /dev/sda1 is full'));

const TOKENS = [
  tokenOf(text, SECRET),
  tokenOf(text, OTHER),
  tokenOf('{"iat":1}', SECRET),
  tokenOf(text, SECRET, { header: { alg: 'none' } }),
  tokenOf(text, SECRET, { header: { alg: 'HS256', crit: ['x'] } }),
  'malformed-but-perhaps-secret',
];
const AUTHORIZATIONS = ['Basic dXNlcjpodW50ZXIy', 'Bearer two words-that-are-secret', 'raw-api-secret'];
const QUERY = 'token=in-the-query';

/** One request of every kind, good and bad. */
async function everyKindOfRequest({ app }: ReceiverFixture): Promise<number[]> {
  const genuine = `Bearer ${TOKENS[0]}`;
  const answers = [
    ...TOKENS.map((token) => sendWithToken(app, body, token)),
    ...AUTHORIZATIONS.map((authorization) => send(app, text, authorization)),
    send(app, 'no JSON', genuine),
    send(app, 'x'.repeat(70_000), genuine),
    send(app, text, genuine).set('Content-Encoding', 'gzip'),
    request(app).get(`${PATH}?${QUERY}`).set('Authorization', genuine),
    request(app).post(`${PATH}?${QUERY}`).set('Authorization', genuine).send(text),
    request(app).get(`/nowhere?${QUERY}`).set('Authorization', genuine),
    request(app).get(`/readyz?${QUERY}`).set('Cookie', 'session=in-the-cookie'),
    deliver(app, notification({ webhook_id: 'of the fallback' }), FALLBACK),
  ];
  return Promise.all(answers.map(async (answer) => (await answer).status));
}

/** Everything that must never be written down, and each part of it that would be enough. */
const SECRETS = [
  SECRET,
  FALLBACK,
  OTHER,
  ...TOKENS.flatMap((token) => [token, token.split('.')[2] ?? '']),
  ...AUTHORIZATIONS.flatMap((authorization) => authorization.split(' ').slice(-1)),
  'in-the-query',
  'in-the-cookie',
].filter((secret) => secret !== '');

const failing = { queue: { record: away, ping: away }, quarantine: { add: away } };
test.each([
  ['', {}, 200],
  [', when the store fails', withStore(failing), 503],
  [', when sources are throttled', { env: { REJECT_LIMIT: '1', TRUST_PROXY: '1' } }, 429],
  [', when the service is stopping', { phase: 'closed' as const }, 503],
])(
  'the log, at its most talkative, has no token, secret, Authorization or query string after every kind of request%s',
  async (_when, { env = {}, ...setup }: Parameters<typeof start>[0] & object, status) => {
    const clock = new VirtualClock();
    const ticking = setInterval(() => clock.advance(1000), 1); // so that no line is left out
    const receiver = await start({
      secrets: { '2yW4KmiG': [SECRET], other: [OTHER] },
      env: { WEBHOOK_SECRET: FALLBACK, ...env },
      clock,
      ...setup,
    });
    expect(await everyKindOfRequest(receiver)).toContain(status);
    clearInterval(ticking);
    expect(receiver.log.lines.length).toBeGreaterThan(2);
    const written = receiver.log.lines.join('');
    for (const secret of SECRETS) expect(written).not.toContain(secret);
    expect(written.toLowerCase()).not.toContain('authorization"');
  },
);

describe('a line of the log', () => {
  test('about a refusal has the reason, the first differing path, the source and the request id', async () => {
    const { app, log } = await start({ env: { TRUST_PROXY: '1' } });
    const token = tokenOf(JSON.stringify({ ...body, site_id: 'x' }), SECRET);
    const { headers } = await sendWithToken(app, body, token).set('X-Forwarded-For', '192.0.2.1:400');
    expect(log.withMessage('notification refused')).toMatchObject([
      {
        level: 'warn',
        request: headers['x-request-id'],
        source: '192.0.2.1',
        status: 401,
        reason: 'claims differ',
        path: '/site_id',
        webhook: '2yW4KmiG',
        kind: 'media_available',
      },
    ]);
  });

  test('about a refusal has at most 200 characters of what a stranger sent, wherever that stood', async () => {
    const long = 'x'.repeat(2000);
    const { app, log, clock } = await start({ env: { TRUST_PROXY: '1' }, clock: new VirtualClock() });
    const strange = notification({ event: long, webhook_id: long, [long]: 1 });
    const tokens = [tokenOf('{}', SECRET), tokenOf(JSON.stringify(strange), 'forged'), long];
    for (const [index, token] of tokens.entries())
      await sendWithToken(app, strange, token).set('X-Forwarded-For', `${index}${long}`);
    await sendWithToken(app, notification({ [long]: 1 }), tokenOf(text, SECRET));
    await clock.advance(1000);
    const lines = log.withMessage('notification refused');
    expect(lines.length).toBe(4);
    expect(lines.at(-1)).toMatchObject({ path: expect.stringMatching(/^\/x{199}$/) });
    for (const line of lines.flatMap((one) => Object.values(one)))
      expect(String(line).length).toBeLessThanOrEqual(200);
  });
});

describe('lines about requests that are not served', () => {
  const shown = ({ lines }: LogLines) => lines.map((line): object => JSON.parse(line));
  const forge = ({ app }: ReceiverFixture, source: string) =>
    deliver(app, body, 'not the secret').set('X-Forwarded-For', source);

  test('are one a source and second, and the next one has how many were left out', async () => {
    const clock = new VirtualClock();
    const receiver = await start({ env: { TRUST_PROXY: '1' }, clock });
    for (const source of ['192.0.2.1', '192.0.2.1', '192.0.2.1:80', '192.0.2.2'])
      await forge(receiver, source);
    await clock.advance(1000);
    await forge(receiver, '192.0.2.1');
    const lines = receiver.log.withMessage('notification refused');
    expect(lines.map(({ source, leftOut }) => [source, leftOut])).toEqual([
      ['192.0.2.1', undefined],
      ['192.0.2.2', 2],
      ['192.0.2.1', undefined],
    ]);
  });

  test('are 50 a second, when there are more sources, and a failure of ours has its line beside them', async () => {
    const clock = new VirtualClock();
    const failing = withStore({ queue: { record: away } });
    const receiver = await start({ env: { TRUST_PROXY: '1' }, clock, ...failing });
    await Promise.all(Array.from({ length: 80 }, (_, number) => forge(receiver, `192.0.2.${number}`)));
    expect(shown(receiver.log)).toHaveLength(50);
    for (let count = 0; count < 20; count++) await deliver(receiver.app, body);
    expect(shown(receiver.log).slice(50)).toMatchObject([
      { level: 'error', msg: 'request failed', leftOut: 30 },
    ]);
  });
});
