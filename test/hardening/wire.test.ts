import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bodyOf, deliver } from '../support/notifications.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { type RunningService, runService } from '../support/running-service.ts';
import { firstStatus, wireRequests } from './hostile.ts';

/** Small here; `npm run test:faults` sends them all as large as can be. */
const LIMIT = 2048;
const requests = await wireRequests();
let service: RunningService;
let genuine = 0;

beforeAll(async () => {
  const env = { BODY_LIMIT: String(LIMIT), REJECT_LIMIT: '1000000', REQUEST_TIMEOUT_MS: '2000' };
  service = await runService({}, env, { threads: OWN_THREADS });
});
afterAll(() => service.dispose());

test('bytes that no client would send are there, each with a name of its own', () => {
  expect(requests.length).toBeGreaterThan(20);
  expect(new Set(requests.map(({ name }) => name)).size).toBe(requests.length);
});

test.each(requests)(
  'a connection, when $name comes over it, is answered $expected, nothing is recorded, and the next genuine notification is taken',
  async ({ bytes, expected }) => {
    expect(await firstStatus(service.port, bytes(LIMIT))).toBe(expected);
    expect((await deliver(service.url, bodyOf(genuine++))).status).toBe(200);
    expect(await service.store.count({})).toBe(genuine);
  },
);
