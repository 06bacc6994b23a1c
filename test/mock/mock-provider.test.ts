import { afterEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider } from '../../src/mock/index.ts';
import { ask } from './support/api.ts';
import { type Receiver, startReceiver } from './support/receiver.ts';
import { SITE } from './support/stage.ts';

const open: { close(): Promise<void> }[] = [];

async function start(options: Parameters<typeof MockProvider.start>[0] = {}): Promise<MockProvider> {
  const mock = await MockProvider.start({ port: 0, ...options });
  open.push(mock);
  return mock;
}

async function withWebhook(mock: MockProvider): Promise<Receiver> {
  const receiver = await startReceiver();
  open.push(receiver);
  const events = ['media_created', 'media_available', 'conversions_complete'] as const;
  mock.createWebhook({ name: 'a', webhook_url: receiver.url, events: [...events], site_ids: [SITE] });
  return receiver;
}

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

describe('a mock provider', () => {
  test('listens where it is told, with its own secret, and serves both APIs and nothing else', async () => {
    const mock = await start({ host: '127.0.0.2', apiSecret: 'another' });
    expect(mock.url).toMatch(/^http:\/\/127\.0\.0\.2:\d+$/);
    for (const [path, Authorization, status] of [
      ['/v2/webhooks', mock.apiSecret, 200],
      ['/api/v1/scheduled_statuses', 'Bearer alice-rw', 200],
      ['/nothing', '', 404],
    ] as const) {
      expect((await ask(`${mock.url}${path}`, 'GET', undefined, { Authorization })).status).toBe(status);
    }
  });

  test("can be put forward, when it has the machine's clock", async () => {
    const mock = await start({ processingMs: 10_000 });
    const receiver = await withWebhook(mock);
    mock.createMedia({ site_id: SITE, publish_at: new Date(mock.now() + 3_600_000).toISOString() });
    expect((await ask(`${mock.url}/_mock/clock`, 'POST', { advance: '2h' })).status).toBe(200);
    expect(receiver.events()).toEqual(['media_created', 'conversions_complete', 'media_available']);
    expect(mock.now() - Date.now()).toBeGreaterThan(7_100_000);
  });

  test('closes at once, when a receiver does not answer, and sends nothing more', async () => {
    const clock = new VirtualClock();
    const mock = await start({ clock });
    const receiver = await withWebhook(mock);
    receiver.answer = () => undefined;
    mock.createMedia({ site_id: SITE });
    while (receiver.received.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await mock.close();
    await mock.settled();
    await clock.advance(86_400_000);
    expect([receiver.received.length, clock.nextDue()]).toEqual([1, undefined]);
    open.splice(open.indexOf(mock), 1);
  });
});
