import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { KitError } from '../../src/base/errors.ts';
import { deliver, notification, PATH, send } from '../support/genuine.ts';
import { exchange, statusOf } from '../support/raw-http.ts';
import { receiverForAllTests, receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const shared = receiverForAllTests();

describe('any other path', () => {
  test.each([
    '/',
    '/webhooks',
    '/webhooks/media/extra',
    '/webhooks/media.json',
    '/webhooks%2Fmedia',
    '/api/events',
    '/metrics',
    '/favicon.ico',
    '/.env',
    '/healthz/x',
    '/%E0%A4%A',
    '/%00',
    '//webhooks/media',
    '/webhooks/../src/config.ts',
  ])('%s, for GET and POST alike, is 404 and reveals nothing', async (path) => {
    for (const method of ['GET', 'POST']) {
      const answer = await exchange(
        shared().app,
        `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect(statusOf(answer)).toBe(404);
      expect(answer.split('\r\n\r\n')[1]).toBe('{"error":"there is nothing here"}');
    }
  });

  test('is 404, when the webhook path is set to another, at the default one', async () => {
    const { app } = await start({ options: { webhookPath: '/in/v1.2/my-hook_~x' } });
    expect((await request(app).post(PATH)).status).toBe(404);
    expect((await request(app).post('/in/v1.2/my-hook_~x')).status).toBe(401);
    expect((await request(app).post('/in/v1x2/my-hook_~x')).status).toBe(404);
  });
});

describe('/healthz', () => {
  test('answers a GET, whatever the store does, with 200', async () => {
    const { app } = await start({
      options: { isDraining: () => true },
      wrap: (store) =>
        storeWith(store, { ping: () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'no disk')) }),
    });
    const response = await request(app).get('/healthz');
    expect([response.status, response.body]).toEqual([200, { status: 'ok' }]);
  });
});

describe('/readyz', () => {
  test('answers a GET, when the store commits, with 200', async () => {
    const response = await request(shared().app).get('/readyz');
    expect([response.status, response.body]).toEqual([200, { status: 'ready' }]);
  });

  test('answers a GET, when the service is shutting down, with 503 and Retry-After', async () => {
    const { app } = await start({ options: { isDraining: () => true } });
    const response = await request(app).get('/readyz');
    expect([response.status, response.body]).toEqual([503, { error: 'shutting down' }]);
    expect(response.headers['retry-after']).toMatch(/^\d+$/);
  });

  test('answers a GET, when the store fails, with 503, and once it works again, with 200', async () => {
    let works = false;
    const { app } = await start({
      wrap: (store) =>
        storeWith(store, {
          ping: () => (works ? store.ping() : Promise.reject(new KitError('STORE_UNAVAILABLE', 'no disk'))),
        }),
    });
    const response = await request(app).get('/readyz');
    expect(response.status).toBe(503);
    expect(response.headers['retry-after']).toMatch(/^\d+$/);
    expect(response.text).not.toContain('no disk');
    works = true;
    expect((await request(app).get('/readyz')).status).toBe(200);
  });

  test('answers a GET, when a notification could not be recorded a moment ago, with 503', async () => {
    const { app } = await start({
      wrap: (store) =>
        storeWith(store, { record: () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'no room')) }),
    });
    const asked = () => request(app).get('/readyz');
    expect((await asked()).status).toBe(200);
    expect((await deliver(app, notification())).status).toBe(503);
    const response = await asked();
    expect([response.status, response.body]).toEqual([503, { error: 'not recorded' }]);
  });

  test('answers a GET, when the store does not answer, with 503', async () => {
    const { app } = await start({ wrap: (store) => storeWith(store, { ping: () => new Promise(() => {}) }) });
    const response = await request(app).get('/readyz');
    expect([response.status, response.body]).toEqual([503, { error: 'the store is busy' }]);
  });
});

describe.each(['/healthz', '/readyz'])('%s', (path) => {
  test('answers a HEAD, as a GET, with 200 and no body', async () => {
    const response = await request(shared().app).head(path);
    expect([response.status, response.text]).toEqual([200, undefined]);
  });

  test.each(['post', 'put', 'patch', 'delete', 'options'] as const)(
    'refuses a %s, as not allowed, with 405 and Allow',
    async (method) => {
      const response = await request(shared().app)[method](path);
      expect([response.status, response.body]).toEqual([405, { error: 'only GET is allowed here' }]);
      expect(response.headers.allow).toBe('GET, HEAD');
    },
  );
});

describe('every answer', () => {
  const answers = async () => {
    const { app } = shared();
    return [
      await request(app).get('/healthz'),
      await request(app).get('/readyz'),
      await request(app).get('/nowhere'),
      await request(app).get(PATH),
      await request(app).post(PATH),
      await deliver(app, 'no JSON'),
      await deliver(app, notification(), 'not the secret'),
      await send(app, 'x'.repeat(70_000)),
      await deliver(app, notification()),
    ];
  };

  test('has the headers of helmet, for each status, and does not say what it runs on', async () => {
    for (const { headers } of await answers()) {
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'strict-transport-security': expect.stringContaining('max-age='),
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('server');
      expect(headers).not.toHaveProperty('etag');
    }
  });

  test('has an X-Request-Id, for each status, of its own and not the one that was sent', async () => {
    const ids = (await answers()).map(({ headers }) => headers['x-request-id']);
    expect(new Set(ids).size).toBe(ids.length);
    const given = await request(shared().app).get('/healthz').set('X-Request-Id', 'mine');
    expect(given.headers['x-request-id']).toMatch(/^[0-9a-f]{12}-[0-9a-f]{12}$/);
  });

  test('has an X-Request-Id that is random, for one request after the other, so that it tells no number of them', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 40; count++) {
      ids.push((await request(shared().app).get('/healthz')).headers['x-request-id'] ?? '');
    }
    // At each place but the one that is always 4 or of a few, the digits vary as they do by chance.
    const places = Array.from({ length: 25 }, (_, place) => new Set(ids.map((id) => id[place])).size);
    expect(places.filter((digits) => digits >= 8).length).toBeGreaterThanOrEqual(24);
  });

  test('is JSON with an error and nothing else, for each status from 400 on', async () => {
    for (const answer of (await answers()).filter(({ status }) => status >= 400)) {
      expect(answer.type).toBe('application/json');
      expect(answer.body).toEqual({ error: expect.any(String) });
    }
  });
});
