import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { KitError } from '../../src/base/errors.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { deliver, notification, PATH, send } from '../support/genuine.ts';
import { receiverForAllTests, receiversForEachTest, storeWith } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const shared = receiverForAllTests();
const away = () => Promise.reject(new KitError('STORE_UNAVAILABLE', 'no disk'));
const withStore = (changes: Partial<EventStore>) => ({
  wrap: (store: EventStore) => storeWith(store, changes),
});

test('/healthz says 200, whatever the store does, at a stop as well', async () => {
  const { app } = await start({ phase: 'closed', ...withStore({ ping: away }) });
  const { status, body } = await request(app).get('/healthz');
  expect([status, body]).toEqual([200, { status: 'ok' }]);
});

describe('/readyz', () => {
  const ask = async (setup: Parameters<typeof start>[0]) => {
    const { status, body } = await request((await start(setup)).app).get('/readyz');
    return [status, body];
  };

  test.each([
    ['the store commits', {}, 200, { status: 'ready' }],
    ['the service drains', { phase: 'draining' as const }, 503, { error: 'shutting down' }],
    ['the service is closed', { phase: 'closed' as const }, 503, { error: 'shutting down' }],
    ['the store cannot commit', withStore({ ping: away }), 503, { error: 'not recorded' }],
    [
      'the store hangs',
      withStore({ ping: () => new Promise(() => {}) }),
      503,
      { error: 'the store is busy' },
    ],
  ])('answers, when %s', async (_what, setup, status, body) => {
    expect(await ask(setup)).toEqual([status, body]);
  });

  test('says 503, when the last ack could not be recorded, and 200 again, once one was', async () => {
    let fails = true;
    const { app } = await start({
      wrap: (store) => storeWith(store, { record: (...given) => (fails ? away() : store.record(...given)) }),
    });
    const ready = async () => (await request(app).get('/readyz')).status;
    expect(await ready()).toBe(200);
    expect((await deliver(app, notification())).status).toBe(503);
    expect(await ready()).toBe(503);
    fails = false;
    expect((await deliver(app, notification())).status).toBe(200);
    expect(await ready()).toBe(200);
  });
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
