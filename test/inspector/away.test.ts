import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { KitError } from '../../src/base/errors.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { Breakable } from '../support/breakable-store.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { storeWith } from '../support/receiver-fixture.ts';

const REASON = 'the store cannot do this now: connect ECONNREFUSED 127.0.0.1:5432';
const EVENT = '/events/abc-0123456789abcdef0123';
const OF_STORE =
  /^webhook_(events|oldest_\w+|paused|quarantine\w+|last_\w+|instances|database_bytes|disk_free_bytes)\b/m;

describe('while the store is unavailable', () => {
  let inspected: Inspected;
  const store = new Breakable();
  beforeAll(async () => {
    inspected = await inspect({}, {}, { wrap: store.wrap });
    await inspected.deliver(notification());
    await inspected.settled();
    store.failure = new KitError('STORE_UNAVAILABLE', REASON);
    expect((await inspected.deliver(notification({ media_id: 'lost' }))).status).toBe(503);
  });
  afterAll(() => {
    store.failure = undefined;
  });

  const read = '/events /problems /channels /refusals /quarantine /webhooks /stats /audit /reconciled'.split(
    ' ',
  );
  test.each([
    ...[...read, EVENT].map((path) => ['GET', path, undefined] as const),
    ['POST', `${EVENT}/replay`, {}],
    ['POST', '/events/replay', { all: true, dry_run: true }],
    ['POST', '/events/dismiss', { all: true, dry_run: true }],
    ['POST', '/quarantine/admit', {}],
    ['POST', '/quarantine/drop', { all: true }],
  ] as const)('%s /api%s says why, with 503 and Retry-After', async (method, path, body) => {
    const headers = { accept: 'text/html', 'content-type': 'application/json' };
    const options = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const answer = await inspected.raw(`/api${path}`, options);
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(JSON.parse(answer.body)).toEqual({ error: REASON });
  });

  const pages =
    '/ /problems /events /events/replay /events/dismiss /channels /refused /webhooks /changes'.split(' ');
  test.each([...pages, EVENT])('page %s says why in words, with 503 and Retry-After', async (path) => {
    const answer = await inspected.raw(path, { headers: { accept: 'text/html' } });
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '5' }, body: `${REASON}\n` });
  });

  test('/metrics has what the process knows, and what the store knows once that is back', async () => {
    const { status, body } = await inspected.raw('/metrics');
    expect([status, OF_STORE.test(body)]).toEqual([200, false]);
    for (const line of ['webhook_store_up 0', 'webhook_notifications_total{result="unavailable"} 1'])
      expect(body.split('\n')).toContain(line);
    const before = store.failure;
    store.failure = undefined;
    const { body: later } = await inspected.raw('/metrics');
    store.failure = before;
    expect([later.includes('webhook_store_up 1'), OF_STORE.test(later)]).toEqual([true, true]);
  });

  test('a route reveals nothing of any other error, with 500, and the log has it', async () => {
    const before = store.failure;
    store.failure = new TypeError('a mistake of ours');
    const { status, body } = await inspected.raw('/api/stats');
    expect((await inspected.raw('/metrics')).status).toBe(200);
    store.failure = before;
    expect([status, JSON.parse(body)]).toEqual([500, { error: 'internal error; see the log' }]);
    const failed = inspected.log.withMessage('admin request failed');
    expect(failed).toContainEqual(expect.objectContaining({ path: '/metrics', error: 'a mistake of ours' }));
  });
});

test('a scrape does without the store, when that does not answer within five seconds', async () => {
  const clock = { ...systemClock, after: (ms: number, fn: () => unknown) => systemClock.after(ms / 50, fn) };
  const hanging = (store: EventStore) =>
    storeWith(store, { reports: { overview: () => new Promise(() => {}) } });
  const inspected = await inspect({}, {}, { wrap: hanging, clock });
  expect((await inspected.raw('/metrics')).body).toContain('webhook_store_up 0');
});
