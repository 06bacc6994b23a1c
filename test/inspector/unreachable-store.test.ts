import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { KitError } from '../../src/base/errors.ts';
import { Breakable } from '../support/breakable-store.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';

const REASON = 'the store cannot do this now: connect ECONNREFUSED 127.0.0.1:5432';
const EVENT = '/events/abc-0123456789abcdef0123';
const OF_STORE = [
  'webhook_events',
  'webhook_oldest_pending_seconds',
  'webhook_quarantined',
  'webhook_quarantine_lost_total',
];

let inspected: Inspected;
const store = new Breakable();

beforeAll(async () => {
  inspected = await inspect({}, {}, { wrap: store.wrap });
  await inspected.deliver(notification());
  await inspected.settled();
  store.failure = new KitError('STORE_UNAVAILABLE', REASON);
  expect((await inspected.deliver(notification({ media_id: 'lost' }))).status).toBe(503);
});
afterAll(async () => {
  store.failure = undefined;
  await inspected.dispose();
});

const metricsIn = (text: string) => [...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name = '']) => name);

describe('while the store is unavailable', () => {
  test.each([
    ['GET', '/events', undefined],
    ['GET', EVENT, undefined],
    ['GET', '/channels', undefined],
    ['GET', '/quarantine', undefined],
    ['GET', '/webhooks', undefined],
    ['GET', '/stats', undefined],
    ['POST', `${EVENT}/replay`, {}],
    ['POST', '/events/replay', { all: true, dry_run: true }],
  ])('%s /api%s says why, when it is asked, with 503 and Retry-After', async (method, path, body) => {
    const answer = await inspected.raw(`/api${path}`, {
      method,
      headers: { accept: 'text/html', 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(JSON.parse(answer.body)).toEqual({ error: REASON });
  });

  test.each([
    '/',
    '/events',
    '/events/replay',
    EVENT,
    '/channels',
    '/rejections',
    '/quarantine',
    '/webhooks',
  ])('page %s says why in words, when it is opened, with 503 and Retry-After', async (path) => {
    const answer = await inspected.raw(path, { headers: { accept: 'text/html' } });
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' }, body: `${REASON}\n` });
  });

  test('the form of an event says why, when it is sent, with 503', async () => {
    const headers = { accept: 'text/html', origin: inspected.url };
    const answer = await inspected.raw(`${EVENT}/replay`, { method: 'POST', headers });
    expect(answer).toMatchObject({ status: 503, body: `${REASON}\n` });
  });

  test('/metrics has what the process knows, when it is scraped, and leaves out what the store knows', async () => {
    const { status, body } = await inspected.raw('/metrics');
    expect(status).toBe(200);
    expect(body.split('\n')).toEqual(
      expect.arrayContaining([
        'webhook_store_up 0',
        'webhook_notifications_total{result="accepted"} 1',
        'webhook_notifications_total{result="unavailable"} 1',
        'webhook_ack_seconds_count 1',
        'webhook_log_lines_dropped_total 0',
      ]),
    );
    expect(metricsIn(body).filter((name) => OF_STORE.includes(name))).toEqual([]);
  });

  test('/metrics has everything again, when the store is back', async () => {
    const before = store.failure;
    store.failure = undefined;
    const { body } = await inspected.raw('/metrics');
    store.failure = before;
    expect(body.split('\n')).toContain('webhook_store_up 1');
    expect(metricsIn(body)).toEqual(expect.arrayContaining(OF_STORE));
  });
});

describe('after any other error of the store', () => {
  const unexpected = async (path: string) => {
    const before = store.failure;
    store.failure = new TypeError('a mistake of ours');
    const answer = await inspected.raw(path);
    store.failure = before;
    return answer;
  };

  test('a route reveals nothing, when it is asked, with 500', async () => {
    const { status, body } = await unexpected('/api/stats');
    expect([status, JSON.parse(body)]).toEqual([500, { error: 'internal error; see the log' }]);
  });

  test('/metrics has what the process knows, when it is scraped, and the log has the error', async () => {
    const { status, body } = await unexpected('/metrics');
    expect(status).toBe(200);
    expect(body.split('\n')).toContain('webhook_store_up 0');
    expect(inspected.log.withMessage('admin request failed')).toContainEqual(
      expect.objectContaining({ path: '/metrics', error: 'a mistake of ours' }),
    );
  });
});
