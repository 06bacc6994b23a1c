import { describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { eventually } from '../support/eventually.ts';
import { deliver, notification, PATH, SECRET, send } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { exchange, firstAnswer, postText, statusOf } from '../support/raw-http.ts';
import { receiversForEachTest } from '../support/receiver-fixture.ts';
import { size } from '../support/sizes.ts';

const start = receiversForEachTest();
const LIMIT = 3;
const forged = `Bearer ${tokenOf(JSON.stringify(notification()), 'not the secret')}`;

type App = Awaited<ReturnType<typeof start>>['app'];

async function fail(app: App, times: number, source?: string): Promise<number[]> {
  const statuses = [];
  for (let count = 0; count < times; count++) {
    const test = deliver(app, notification(), 'not the secret');
    if (source !== undefined) test.set('X-Forwarded-For', source);
    statuses.push((await test).status);
  }
  return statuses;
}

describe('one source', () => {
  test('is refused, once it has failed as often as allowed, with 429 and Retry-After in place of 401', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT } });
    expect(await fail(app, LIMIT)).toEqual([401, 401, 401]);
    const response = await deliver(app, notification(), 'not the secret');
    expect(response.status).toBe(429);
    expect(response.body).toEqual({ error: 'too many notifications that cannot be verified' });
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    expect(response.headers['www-authenticate']).toBeUndefined();
  });

  test('is refused with 401 as often as allowed, when all its failures come at the same moment, and with 429 beyond', async () => {
    const { app, store } = await start({ options: { rejectLimit: 5 } });
    const bodies = Array.from({ length: 12 }, (_, number) => notification({ media_id: `media${number}` }));
    const answers = await Promise.all(bodies.map((body) => deliver(app, body, 'not the secret')));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(7).fill(429)]);
    await eventually('all are kept', async () => (await store.quarantined()).length === 12);
  });

  test('is named in the log once, when it goes on failing beyond the limit, however often that is', async () => {
    const { app, log } = await start({ options: { rejectLimit: LIMIT } });
    await fail(app, LIMIT * 5);
    expect(log.withMessage('notification refused')).toHaveLength(LIMIT);
    expect(log.withMessage('source throttled')).toMatchObject([{ source: expect.stringMatching(/127/) }]);
  });

  test('is never throttled, when its notifications verify, however often it failed, with 200', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT } });
    expect((await fail(app, LIMIT + 2)).at(-1)).toBe(429);
    for (let count = 0; count < 10; count++) {
      expect((await deliver(app, notification({ media_id: `media${count}` }))).body.status).toBe('accepted');
      expect((await deliver(app, notification({ media_id: `media${count}` }))).body.status).toBe('duplicate');
    }
    expect((await fail(app, 1)).at(-1)).toBe(429);
  });

  test('is not throttled, when all that it sends verifies, though that is far more than the limit', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT } });
    for (let count = 0; count < LIMIT * 4; count++) {
      expect((await deliver(app, notification({ media_id: `media${count}` }))).status).toBe(200);
    }
    expect(await fail(app, 1)).toEqual([401]);
  });

  test.each([
    ['a body that is no JSON', 400, (app: App) => send(app, 'no JSON', forged)],
    ['a member twice', 400, (app: App) => send(app, '{"a":1,"a":1}', forged)],
    ['a compressed body', 400, (app: App) => send(app, '{}', forged).set('Content-Encoding', 'gzip')],
    ['no Authorization', 401, (app: App) => send(app, '{}')],
    ['a token that is none', 401, (app: App) => send(app, '{}', 'Bearer x')],
    ['other claims', 401, (app: App) => send(app, '{}', `Bearer ${tokenOf('{"a":1}', SECRET)}`)],
  ])(
    'counts as failing, when it sends %s with %i, and is throttled by 429 after that',
    async (_what, status, request) => {
      const { app } = await start({ options: { rejectLimit: LIMIT } });
      for (let count = 0; count < LIMIT; count++) expect((await request(app)).status).toBe(status);
      expect(await fail(app, 1)).toEqual([429]);
      expect((await deliver(app, notification())).status).toBe(200);
    },
  );

  test('is answered 429 in place of 400 too, once it is over its limit, and its body is not waited for', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT } });
    await fail(app, LIMIT);
    expect((await send(app, 'no JSON', forged)).status).toBe(429);
    const headers = [`Authorization: ${forged}`, 'Content-Length: 60000'];
    expect(statusOf(await exchange(app, postText(PATH, headers)))).toBe(429);
    const chunked = ['Authorization: Bearer of.no.use', 'Transfer-Encoding: chunked'];
    const answer = size({ small: firstAnswer, full: exchange });
    expect(statusOf(await answer(app, postText(PATH, chunked, '', 'keep-alive')))).toBe(429);
  });

  test('is answered as ever, once it is over its limit, where its head or a right signature says so', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT, bodyLimit: 1000 } });
    await fail(app, LIMIT);
    expect((await send(app, '{}')).status).toBe(401);
    expect((await send(app, 'x'.repeat(2000), forged)).status).toBe(413);
    const ofWebhook = JSON.stringify(notification());
    expect((await send(app, 'no JSON', `Bearer ${tokenOf(ofWebhook, SECRET)}`)).status).toBe(400);
  });

  test.each([
    ['one webhook', { '2yW4KmiG': [SECRET] }],
    ['many webhooks', { a: ['a'], b: ['b'], c: ['c'], d: ['d'], '2yW4KmiG': ['old', SECRET] }],
  ])(
    'is never throttled, with the secrets of %s, in whatever form its notifications verify',
    async (_what, secrets) => {
      const { app } = await start({ secrets, options: { rejectLimit: LIMIT } });
      await fail(app, LIMIT);
      const body = notification();
      const reordered = JSON.stringify(Object.fromEntries(Object.entries(body).reverse()));
      const escaped = JSON.stringify(body).replace('webhook_id', 'webhook\\u005fid');
      const nested = JSON.stringify({ more: [{ webhook_id: 'a' }], ...body, text: '"webhook_id":"a"' });
      const header = { alg: 'HS256', kid: 'x' };
      expect((await send(app, reordered, `Bearer ${tokenOf(JSON.stringify(body), SECRET)}`)).status).toBe(
        200,
      );
      expect((await send(app, escaped, `Bearer ${tokenOf(escaped, SECRET)}`)).status).toBe(200);
      expect((await send(app, nested, `Bearer ${tokenOf(nested, SECRET, { header })}`)).status).toBe(200);
      expect(await fail(app, 1)).toEqual([429]);
    },
  );

  test('starts again at 401, when a minute has passed', async () => {
    const clock = new VirtualClock();
    const { app } = await start({ options: { rejectLimit: LIMIT, clock } });
    expect((await fail(app, LIMIT + 1)).at(-1)).toBe(429);
    await clock.advance(59_000);
    expect(await fail(app, 1)).toEqual([429]);
    await clock.advance(61_000);
    expect(await fail(app, 1)).toEqual([401]);
  });
});

describe('several sources', () => {
  test('count each for itself, when they come through a proxy that is trusted, by X-Forwarded-For', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT, trustProxy: 1 } });
    expect((await fail(app, LIMIT + 1, '203.0.113.1')).at(-1)).toBe(429);
    expect(await fail(app, LIMIT, '203.0.113.2')).toEqual([401, 401, 401]);
    expect(await fail(app, 1, '203.0.113.1')).toEqual([429]);
    expect(await fail(app, 1, '2001:db8::1')).toEqual([401]);
  });

  test('count as one, when they invent addresses in front of what the trusted proxy wrote', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT, trustProxy: 1 } });
    const invented = Array.from({ length: LIMIT }, (_, count) => `198.51.100.${count}, 203.0.113.1`);
    for (const source of invented) expect(await fail(app, 1, source)).toEqual([401]);
    expect(await fail(app, 1, '198.51.100.99, 203.0.113.1')).toEqual([429]);
  });

  test('count as one, when no proxy is trusted, whatever X-Forwarded-For says', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT, trustProxy: 0 } });
    for (let count = 0; count < LIMIT; count++) {
      expect(await fail(app, 1, `203.0.113.${count}`)).toEqual([401]);
    }
    expect(await fail(app, 1, '203.0.113.99')).toEqual([429]);
  });

  test('count as one, when they are addresses of one IPv6 network, as one host has them all', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT, trustProxy: 1 } });
    for (let count = 0; count < LIMIT; count++) {
      expect(await fail(app, 1, `2001:db8:0:1::${count}`)).toEqual([401]);
    }
    expect(await fail(app, 1, '2001:db8:0:1:ffff::1')).toEqual([429]);
  });
});
