import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspect } from '../support/inspected-service.ts';
import { SECRETS_KEY } from '../support/postgres-databases.ts';

const REASON = /the secrets were sealed under another key/;

let inspected: Inspected;

beforeAll(async () => {
  inspected = await inspect({}, { SECRETS_KEY: SECRETS_KEY.toString('base64') });
  expect((await inspected.deliver(notification(), 'a-forgery')).status).toBe(401);
  // As another process does it.
  const url = inspected.env.DATABASE_URL ?? '';
  const store = await openStore({ url, clock: systemClock, secretsKey: SECRETS_KEY, threads: false });
  await store.rekey(Buffer.alloc(32, 8));
  await store.close();
});
afterAll(() => inspected.dispose());

describe('once the secrets were sealed under another key than the process has', () => {
  test.each([
    ...['/', '/events', '/events/replay', '/channels', '/rejections', '/quarantine', '/metrics'],
    ...['/api/events', '/api/channels', '/api/rejections', '/api/quarantine', '/api/stats'],
  ])('%s answers as before, when it is asked', async (path) => {
    expect(await inspected.raw(path)).toMatchObject({ status: 200 });
  });

  test.each(['/webhooks', '/api/webhooks'])('%s says why, when it is asked, with 503', async (path) => {
    expect(await inspected.raw(path)).toMatchObject({ status: 503, body: expect.stringMatching(REASON) });
  });

  test('the overview says so, and goes on with the secrets that it holds', async () => {
    const stats = await inspected.api('/stats');
    expect(stats).toMatchObject({ can_read_secrets: false });
    expect((await inspected.raw('/')).body).toContain('The stored secrets cannot be read');
    expect((await inspected.deliver(notification())).status).toBe(200);
  });
});
