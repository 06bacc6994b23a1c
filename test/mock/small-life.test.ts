import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { MockProvider, smallLife } from '../../src/mock/index.ts';
import { kindNames } from '../../src/notification/kinds.ts';

const MINUTE_MS = 60_000;

/** The kinds of what happens within so many minutes of virtual time, on a mock that is then reset, and afterwards. */
async function live(seed: number, minutes: number) {
  const clock = new VirtualClock();
  const poster = { post: async () => ({ type: 'answered' as const, status: 200, body: '' }), close() {} };
  const mock = MockProvider.inProcess({ clock, seed: 1, poster });
  const hook = { name: 'all', webhook_url: 'https://receiver.test/', events: kindNames, site_ids: ['s'] };
  const kinds = () => mock.deliveries().map(({ notification }) => String(notification.event));
  mock.createWebhook(hook);
  const end = smallLife({ mock, site: 's', clock, seed });
  await clock.advance(minutes * MINUTE_MS);
  const before = kinds();
  mock.reset();
  mock.createWebhook(hook);
  await clock.advance(5 * MINUTE_MS);
  end();
  await clock.advance(MINUTE_MS);
  const after = kinds();
  await clock.advance(10 * MINUTE_MS);
  expect(kinds()).toEqual(after);
  await mock.close();
  return { before, after };
}

test('something of every sort happens every few seconds, the same with the same seed, and goes on after a reset, until it ends', async () => {
  const { before, after } = await live(7, 20);
  expect(before.length).toBeGreaterThan(200);
  expect(before.length).toBeLessThan(3000);
  const expected = kindNames.filter((kind) => kind !== 'thumbnail_deleted');
  expect([...new Set(before)].toSorted()).toEqual(expected.toSorted());
  expect(after).toEqual(expect.arrayContaining(['media_created', 'media_updated', 'channel_active']));
  const states = before.filter((kind) => /_(active|idle)$/.test(kind));
  expect(states).toEqual(states.map((_, i) => (i % 2 === 0 ? 'channel_active' : 'channel_idle')));
  const count = (name: string) => before.filter((kind) => kind === name).length;
  expect(count('media_created') - count('media_deleted')).toBeLessThanOrEqual(8);
  const first = await live(7, 5);
  expect(await live(7, 5)).toEqual(first);
  expect(await live(8, 5)).not.toEqual(first);
});
