import { describe, expect, test } from '@jest/globals';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified, verifiedBody } from '../../support/verified-notification.ts';

export function describeRecording(fixture: CurrentFixture): void {
  describe('record', () => {
    test('accepts a notification, when it is new, as a pending event with all that it says', async () => {
      const { store, clock } = fixture();
      const notification = verified();
      const { status, id } = await store.record(notification);
      expect(status).toBe('accepted');
      expect(await store.event(id)).toEqual({
        id,
        digest: Buffer.from(notification.digest).toString('hex'),
        kind: 'media_available',
        webhookId: 'webhook-1',
        siteId: 'site-1',
        resource: 'media:media-1',
        eventTime: EVENT_TIME,
        body: notification.body,
        receivedAt: clock.now(),
        deliveries: 1,
        lastDeliveryAt: clock.now(),
        status: 'pending',
        starts: 0,
        attempts: 0,
        replays: 0,
        nextAttemptAt: undefined,
        lastError: undefined,
        handledAt: undefined,
      });
    });

    test('keeps the time of receipt, when one is given, instead of the clock', async () => {
      const { store, clock } = fixture();
      const receivedAt = clock.now() - 3_600_000;
      const { id } = await store.record(verified(), receivedAt);
      expect(await store.event(id)).toMatchObject({ receivedAt, lastDeliveryAt: receivedAt });
    });

    test('keeps the body, when it has any characters, as it was received', async () => {
      const { store } = fixture();
      const body = '{ "media_id":"\u00e9\u4e16\u{1f3ac}",\r\n\t"quote":"\'\\"%_;--", "zero":"\\u0000" }';
      const { id } = await store.record({ ...verified(), body });
      expect((await store.event(id))?.body).toBe(body);
    });

    test('tells a duplicate, when an event comes again, with the id of the first and one delivery more', async () => {
      const { store, clock } = fixture();
      const first = await store.record(verified());
      const receivedAt = clock.now();
      await clock.advance(5000);
      expect(await store.record(verified())).toEqual({ status: 'duplicate', id: first.id });
      expect(await store.event(first.id)).toMatchObject({
        deliveries: 2,
        receivedAt,
        lastDeliveryAt: clock.now(),
      });
      expect(await store.count({})).toBe(1);
    });

    test('keeps the latest time of delivery, when a repeat that was received earlier comes after', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await store.record(verified(), clock.now() - 60_000);
      expect(await store.event(id)).toMatchObject({ deliveries: 2, lastDeliveryAt: clock.now() });
    });

    test('tells a duplicate, when another webhook tells of the same event, and keeps the first webhook', async () => {
      const { store } = fixture();
      const first = await store.record(verified({ webhook_id: 'webhook-1' }));
      const second = await store.record(verified({ webhook_id: 'webhook-2' }));
      expect(second).toEqual({ status: 'duplicate', id: first.id });
      expect(await store.event(first.id)).toMatchObject({ webhookId: 'webhook-1', deliveries: 2 });
    });

    test('takes two events apart, when only their time, their site or one more member differs', async () => {
      const { store } = fixture();
      const different = [
        verified(),
        verified({ at: EVENT_TIME + 1000 }),
        verified({ site_id: 'site-2' }),
        verified({ extra: null }),
      ];
      const recorded = await Promise.all(different.map((one) => store.record(one)));
      expect(recorded.map(({ status }) => status)).toEqual(different.map(() => 'accepted'));
      expect(new Set(recorded.map(({ id }) => id)).size).toBe(different.length);
    });

    test('gives the same id, when another instance records the event, and tells it a duplicate', async () => {
      const { store, open } = fixture();
      const first = await store.record(verified());
      expect(await (await open()).record(verified())).toEqual({ status: 'duplicate', id: first.id });
    });

    test('accepts an event, when it has no time and no kind, with the time 0', async () => {
      const { store } = fixture();
      const { id } = await store.record(verifiedBody({ webhook_id: 'webhook-1' }));
      expect(await store.event(id)).toMatchObject({ eventTime: 0, kind: '', status: 'pending' });
    });

    test('accepts an event, when it happened before 1970, under an id that finds it', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified({ at: -86_400_000 }));
      expect(await store.event(id)).toMatchObject({ id, eventTime: -86_400_000 });
    });

    test('changes only the deliveries, when a finished event comes again, and hands it to no dispatcher', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const claimed = await store.claim({ owner: 'one', limit: 1, leaseMs: 1000, maxAttempts: 3 });
      for (const claim of claimed.claims) {
        await store.settle(claim, 'one', { status: 'handled', outcome: 'handled' });
      }
      await store.record(verified());
      expect(await store.event(id)).toMatchObject({ status: 'handled', deliveries: 2 });
      const again = await store.claim({ owner: 'one', limit: 1, leaseMs: 1000, maxAttempts: 3 });
      expect(again).toEqual({ claims: [], dueInMs: undefined });
    });
  });

  describe('event', () => {
    test.each(['', 'nonsense', '0-', `zzzzzzzzzzz-${'0'.repeat(20)}`, `0-${'f'.repeat(20)}`, "0' OR 1=1 --"])(
      'finds nothing, when the id is %j, which no event has',
      async (id) => {
        const { store } = fixture();
        await store.record(verified());
        expect(await store.event(id)).toBeUndefined();
        expect(await store.attempts(id)).toEqual([]);
      },
    );
  });
}
