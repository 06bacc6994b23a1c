import { afterEach, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { type Delivery, MockProvider, smallLife } from '../../src/mock/index.ts';

const SITE = 'devSite1';
const MINUTE_MS = 60_000;

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A mock on which a site lives, in virtual time, with a receiver that takes everything. */
function live(seed: number) {
  const clock = new VirtualClock();
  const mock = MockProvider.inProcess({
    clock,
    seed: 1,
    poster: { post: async () => ({ type: 'answered', status: 200, body: '' }), close() {} },
  });
  ends.push(() => mock.close());
  const hook = { name: 'all', webhook_url: 'https://receiver.test/', events: [...KINDS], site_ids: [SITE] };
  mock.createWebhook(hook);
  const end = smallLife({ mock, site: SITE, clock, seed });
  ends.push(end);
  return { mock, end, clock };
}

const KINDS = [
  'media_created',
  'media_available',
  'conversions_complete',
  'media_updated',
  'media_reuploaded',
  'media_deleted',
  'thumbnail_created',
  'track_created',
  'track_deleted',
  'channel_created',
  'channel_active',
  'channel_idle',
] as const;

const kindsOf = (deliveries: readonly Delivery[]) =>
  deliveries.map(({ notification }) => String(notification.event));

test('has something of every sort happen every few seconds, when a site lives for a while', async () => {
  const { mock, clock } = live(7);
  for (let minute = 0; minute < 20; minute++) {
    const before = mock.deliveries().length;
    await clock.advance(MINUTE_MS);
    await mock.settled();
    const fresh = mock.deliveries().length - before;
    expect(fresh).toBeGreaterThan(10);
    expect(fresh).toBeLessThan(150);
  }
  const kinds = kindsOf(mock.deliveries());
  expect([...new Set(kinds)].toSorted()).toEqual([...KINDS].toSorted());
  const channel = kinds.filter((kind) => /_(active|idle)$/.test(kind));
  for (const [index, kind] of channel.entries())
    expect(kind).toBe(index % 2 === 0 ? 'channel_active' : 'channel_idle');
  const alive =
    kinds.filter((kind) => kind === 'media_created').length -
    kinds.filter((kind) => kind === 'media_deleted').length;
  expect(alive).toBeGreaterThan(0);
  expect(alive).toBeLessThanOrEqual(8);
});

test('has the same happen, when the seed is the same, and nothing more, when it has ended', async () => {
  const kinds = async (seed: number) => {
    const { mock, clock, end } = live(seed);
    await clock.advance(5 * MINUTE_MS);
    end();
    await clock.advance(MINUTE_MS);
    const all = kindsOf(mock.deliveries());
    await clock.advance(10 * MINUTE_MS);
    expect(kindsOf(mock.deliveries())).toEqual(all);
    return all;
  };
  const first = await kinds(7);
  expect(first.length).toBeGreaterThan(50);
  expect(await kinds(7)).toEqual(first);
  expect(await kinds(8)).not.toEqual(first);
});

test('goes on, when a developer deletes everything at the mock', async () => {
  const { mock, clock } = live(7);
  await clock.advance(MINUTE_MS);
  mock.reset();
  const all = { name: 'all', webhook_url: 'https://receiver.test/', events: [...KINDS], site_ids: [SITE] };
  mock.createWebhook(all);
  const before = mock.deliveries().length;
  await clock.advance(5 * MINUTE_MS);
  const kinds = kindsOf(mock.deliveries().slice(before));
  expect(kinds).toEqual(expect.arrayContaining(['media_created', 'media_updated', 'channel_active']));
});
