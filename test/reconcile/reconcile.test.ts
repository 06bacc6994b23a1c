import { expect, test } from '@jest/globals';
import { defineApp, type ExpectedNotification } from '../../src/index.ts';
import { testReceiver } from '../../src/testing/index.ts';

const START = Date.UTC(2026, 0, 1);
const seen = (event: 'media_available' | 'media_deleted', media_id: string, minutes: number) =>
  ({
    event,
    media_id,
    site_id: 'site',
    event_time: new Date(START + minutes * 60_000),
  }) as ExpectedNotification;

test('what has not come is recorded once, and the notification that comes later names it', async () => {
  const handled: unknown[] = [];
  const since: Date[] = [];
  const app = defineApp({
    handlers: {
      media_available: ({ media_id, webhook_id }, { origin, repeats }) =>
        void handled.push([media_id, webhook_id, origin, repeats]),
    },
    reconcile: {
      async *expected(from) {
        since.push(from);
        yield seen('media_available', 'lost', 0);
        yield seen('media_available', 'came', 0);
        yield seen('media_available', 'young', 50);
      },
    },
  });
  await using kit = await testReceiver({ app });
  await kit.deliver('media_available', { media_id: 'came', event_time: '2026-01-01T00:00:00+00:00' });
  await kit.advance('1h');
  await kit.settled();
  expect(handled.slice(1)).toEqual([['lost', 'hookkit', 'reconciled', undefined]]);
  const [reconciled] = await kit.events({ resource: 'media:lost' });
  await kit.deliver('media_available', { media_id: 'lost' });
  await kit.deliver('media_available', { media_id: 'lost' });
  await kit.settled();
  expect(handled.slice(2)).toEqual([
    ['lost', expect.not.stringContaining('hookkit'), 'notification', reconciled?.id],
    ['lost', expect.not.stringContaining('hookkit'), 'notification', undefined],
  ]);
  await kit.advance('1h');
  await kit.settled();
  expect(handled.slice(4)).toEqual([['young', 'hookkit', 'reconciled', undefined]]);
  expect(since).toEqual([new Date(START - 47 * 3_600_000), new Date(START - 47 * 3_600_000)]);
});
