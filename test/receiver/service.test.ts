import { describe, expect, test } from '@jest/globals';
import type { Handlers } from '../../src/dispatch/handler.ts';
import { StatusesClient } from '../../src/provider/index.ts';
import { databaseForEachTest } from '../support/engine.ts';
import { eventsIn } from '../support/events-in.ts';
import { eventually } from '../support/eventually.ts';
import { notification, WEBHOOK } from '../support/genuine.ts';
import { tokenOf } from '../support/hs256.ts';
import { deliver } from '../support/notifications.ts';
import { only } from '../support/only.ts';
import { rawConnection } from '../support/raw-http.ts';
import { type RunningService, runService } from '../support/running-service.ts';

const database = databaseForEachTest();
/** A service on the database of the test; it ends after the suite, unless it is stopped. */
const start = (env: Readonly<Record<string, string>> = {}, handlers: Handlers = {}) =>
  runService(handlers, { ...database().env, WEBHOOK_SECRET: '', SHUTDOWN_GRACE_MS: '0', ...env });

const post = ({ url }: RunningService, body: object, secret: string) =>
  deliver(url, JSON.stringify(body), secret);

test('a secret retired by another process soon verifies nothing any more, with 401', async () => {
  const service = await start();
  const other = await database().open();
  await other.secrets.add(WEBHOOK, 'old');
  await other.secrets.add(WEBHOOK, 'new');
  expect((await post(service, notification(), 'old')).status).toBe(200);
  await other.secrets.retire(WEBHOOK, 'old', Date.now());
  await eventually('it is refused', async () => (await post(service, notification(), 'old')).status === 401);
  expect((await post(service, notification(), 'new')).status).toBe(200);
});

describe('a notification in quarantine', () => {
  test('is admitted and handled, when another process stores its secret and nothing else comes', async () => {
    const handled: string[] = [];
    const service = await start({}, { media_available: ({ media_id }) => void handled.push(media_id) });
    for (let n = 0; n < 2; n++) expect((await post(service, notification(), 'late')).status).toBe(401);
    await eventually(
      'it is kept',
      async () => (await service.store.quarantine.entries())[0]?.deliveries === 2,
    );
    await (await database().open()).secrets.add(WEBHOOK, 'late');
    await eventually('it is handled', () => handled.length > 0);
    await eventually('it left', async () => (await service.store.quarantine.entries()).length === 0);
    const events = await eventsIn(service.store, {}, 10);
    expect(only(events)).toMatchObject({ body: JSON.stringify(notification()), deliveries: 2 });
    expect(await (await post(service, notification(), 'late')).json()).toMatchObject({ status: 'duplicate' });
  });

  test('is admitted at the next start, when WEBHOOK_SECRET is set by then', async () => {
    const first = await start();
    expect((await post(first, notification(), 'late')).status).toBe(401);
    await first.stop();
    const second = await start({ WEBHOOK_SECRET: 'late' });
    await eventually('it is recorded', async () => (await second.store.queue.count({})) === 1);
    await eventually('it left', async () => (await second.store.quarantine.entries()).length === 0);
  });
});

test('a stop serves on for DRAIN_MS, while /readyz says 503', async () => {
  const service = await start({ WEBHOOK_SECRET: 'fallback', DRAIN_MS: '500' });
  const stopped = service.stop();
  const ready = await fetch(`http://127.0.0.1:${service.port}/readyz`, { headers: { connection: 'close' } });
  expect([ready.status, (await post(service, notification(), 'fallback')).status]).toEqual([503, 200]);
  await stopped;
});

test('a service listens at WEBHOOK_PATH alone, closes connections over MAX_CONNECTIONS, names attempts by INSTANCE_NAME, and gives handlers the client of STATUSES_BASE_URL', async () => {
  const env = { WEBHOOK_PATH: '/in', MAX_CONNECTIONS: '3', INSTANCE_NAME: 'one', WEBHOOK_SECRET: 's' };
  const statuses = { STATUSES_BASE_URL: 'http://127.0.0.1:1', STATUSES_TOKEN: 'alice-rw' };
  const clients: unknown[] = [];
  const service = await start(
    { ...env, ...statuses },
    { media_available: (_, ctx) => void clients.push(ctx.statuses) },
  );
  expect((await post(service, notification(), 's')).status).toBe(404);
  const text = JSON.stringify(notification());
  const headers = { authorization: `Bearer ${tokenOf(text, 's')}`, connection: 'close' };
  expect((await fetch(`${service.url}/in`, { method: 'POST', headers, body: text })).status).toBe(200);
  const { id } = only(await eventsIn(service.store, {}, 2));
  await eventually('it is handled', async () => (await service.store.queue.attempts({ id })).length === 1);
  expect(await service.store.queue.attempts({ id })).toMatchObject([{ instance: 'one' }]);
  expect(clients).toEqual([expect.any(StatusesClient)]);
  const all = await Promise.all(Array.from({ length: 4 }, () => rawConnection(service.port)));
  expect(await Promise.race(all.map(({ closed }) => closed))).toBe('');
  for (const one of all) one.destroy();
});
