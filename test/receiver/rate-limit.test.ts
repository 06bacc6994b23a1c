import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { deliver, notification, send } from '../support/genuine.ts';
import { receiversForEachTest } from '../support/receiver-fixture.ts';

const start = receiversForEachTest();
const LIMIT = 3;

afterEach(() => {
  jest.useRealTimers();
});

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
    expect(await store.quarantined()).toHaveLength(5);
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

  test('does not count as failing, when what it sends is no notification, with 400 and 401 as before', async () => {
    const { app } = await start({ options: { rejectLimit: LIMIT, bodyLimit: 1000 } });
    for (let count = 0; count < LIMIT * 2; count++) {
      expect((await send(app, 'no JSON', 'Bearer x')).status).toBe(400);
      expect((await send(app, '{}')).status).toBe(401);
      expect((await send(app, 'x'.repeat(2000), 'Bearer x')).status).toBe(413);
    }
    expect(await fail(app, LIMIT)).toEqual([401, 401, 401]);
  });

  test('starts anew, when a minute has passed, with 401', async () => {
    jest.useFakeTimers({
      now: Date.UTC(2026, 0, 1),
      doNotFake: [
        'nextTick',
        'setImmediate',
        'clearImmediate',
        'setTimeout',
        'clearTimeout',
        'queueMicrotask',
        'performance',
        'hrtime',
      ],
    });
    const { app } = await start({ options: { rejectLimit: LIMIT } });
    expect((await fail(app, LIMIT + 1)).at(-1)).toBe(429);
    jest.advanceTimersByTime(59_000);
    expect(await fail(app, 1)).toEqual([429]);
    jest.advanceTimersByTime(61_000);
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
