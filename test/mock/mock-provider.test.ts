import { afterEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider, smallLife } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';
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

const MINUTE_MS = 60_000;
const faults = { duplicate: 0.1, reorder: 0.1, delay: 0.1, drop: 0.1, tamper: 0.1, forge: 0.1 };

/** What happens within so many minutes of virtual time, on a mock that is then reset, and afterwards. */
async function live(seed: number, minutes: number) {
  const clock = new VirtualClock();
  let posts = 0;
  const post = async () => ({ type: 'answered' as const, status: ++posts % 7 === 0 ? 503 : 200, body: '' });
  const mock = MockProvider.inProcess({ clock, seed: 1, poster: { post, close() {} } });
  const hook = { name: 'all', webhook_url: 'https://receiver.test/', events: kindNames, site_ids: ['s'] };
  const kinds = () => mock.deliveries().map(({ notification }) => String(notification.event));
  mock.createWebhook(hook);
  const end = smallLife({ mock, site: 's', clock, seed });
  await clock.advance(minutes * MINUTE_MS);
  const before = kinds();
  mock.reset();
  mock.createWebhook(hook);
  mock.setFaults(faults);
  await clock.advance(5 * MINUTE_MS);
  end();
  await clock.advance(60 * MINUTE_MS);
  const log = mock.deliveries();
  await clock.advance(60 * MINUTE_MS);
  expect(mock.deliveries()).toEqual(log);
  await mock.close();
  return { before, log };
}

test('something of every sort happens every few seconds, until it ends, and goes on after a reset', async () => {
  const { before, log } = await live(7, 20);
  expect(before.length).toBeGreaterThan(200);
  expect(before.length).toBeLessThan(3000);
  const expected = kindNames.filter((kind) => kind !== 'thumbnail_deleted');
  expect([...new Set(before)].toSorted()).toEqual(expected.toSorted());
  const after = log.map(({ notification }) => notification.event);
  expect(after).toEqual(expect.arrayContaining(['media_created', 'media_updated', 'channel_active']));
  const count = (name: string) => before.filter((kind) => kind === name).length;
  expect(count('media_created') - count('media_deleted')).toBeLessThanOrEqual(8);
});

test('the same seeds give the same log to the byte, when deliveries have faults and are retried, and it comes to an end', async () => {
  const { log } = await live(7, 1);
  expect(log.filter(({ attempts }) => attempts.length > 1).length).toBeGreaterThan(5);
  expect(log.filter(({ state }) => state === 'pending')).toEqual([]);
  for (const [name] of Object.entries(faults)) expect(log.flatMap((one) => one.faults)).toContain(name);
  expect((await live(7, 1)).log).toEqual(log);
  expect((await live(8, 1)).log).not.toEqual(log);
});
