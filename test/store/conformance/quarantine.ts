import { describe, expect, test } from '@jest/globals';
import type { EventId } from '../../../src/store/event-id.ts';
import type { EventStore, Quarantined } from '../../../src/store/event-store.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

type Entry = Omit<Quarantined, 'receivedAt'>;

function entry(number: number, source = '192.0.2.1', webhook = 'webhook-1'): Entry {
  const notification = verified({ media_id: `media-${number}`, webhook_id: webhook });
  return { ...notification, token: `token-${source}-${number}`, source };
}

async function tokens(store: EventStore): Promise<string[]> {
  return (await store.quarantined()).map(({ token }) => token);
}

export function describeQuarantine(fixture: CurrentFixture): void {
  describe('quarantine', () => {
    test('keeps an entry, when it is new, with all that it takes to admit it later', async () => {
      const { store, open, clock } = fixture();
      const given = entry(1);
      const receivedAt = clock.now();
      expect(await store.quarantine(given, 10)).toBe(true);
      await clock.advance(1000);
      const [kept] = await (await open()).quarantined();
      expect({ ...kept, digest: Buffer.from(kept?.digest ?? []) }).toEqual({
        ...given,
        digest: Buffer.from(given.digest),
        receivedAt,
      });
    });

    test('says whether anything waits, when it is empty, filled, and emptied again', async () => {
      const { store } = fixture();
      expect(await store.hasQuarantined()).toBe(false);
      await store.quarantine(entry(1), 10);
      expect(await store.hasQuarantined()).toBe(true);
      await store.admit(entry(1).token);
      expect(await store.hasQuarantined()).toBe(false);
    });

    test('refuses an entry, when its token is there already, and keeps the first', async () => {
      const { store } = fixture();
      await store.quarantine(entry(1), 10);
      expect(await store.quarantine({ ...entry(1), source: '192.0.2.99' }, 10)).toBe(false);
      expect(await store.quarantined()).toMatchObject([{ source: '192.0.2.1' }]);
    });

    test('keeps nothing, when it may hold nothing', async () => {
      const { store } = fixture();
      expect(await store.quarantine(entry(1), 0)).toBe(false);
      expect(await store.quarantined()).toEqual([]);
    });

    test('drops the oldest, when one source fills it, and keeps the newest in order', async () => {
      const { store } = fixture();
      for (let number = 0; number < 7; number++) await store.quarantine(entry(number), 3);
      expect(await tokens(store)).toEqual([4, 5, 6].map((number) => `token-192.0.2.1-${number}`));
    });

    test('keeps what one source sent, when another one floods it', async () => {
      const { store } = fixture();
      await store.quarantine(entry(0, '192.0.2.1'), 5);
      await store.quarantine(entry(1, '192.0.2.1'), 5);
      for (let number = 0; number < 50; number++) await store.quarantine(entry(number, '203.0.113.9'), 5);
      expect(await tokens(store)).toEqual([
        'token-192.0.2.1-0',
        'token-192.0.2.1-1',
        ...[47, 48, 49].map((number) => `token-203.0.113.9-${number}`),
      ]);
    });

    test('shrinks, when it may hold less than before, at the cost of who holds most', async () => {
      const { store } = fixture();
      for (let number = 0; number < 6; number++) await store.quarantine(entry(number, '203.0.113.9'), 10);
      await store.quarantine(entry(1, '192.0.2.1'), 10);
      await store.quarantine(entry(2, '192.0.2.1'), 3);
      expect(await store.quarantined()).toHaveLength(3);
      expect(await tokens(store)).toContain('token-192.0.2.1-2');
    });

    test('tells the entries of one webhook, when asked for it, oldest first', async () => {
      const { store } = fixture();
      await store.quarantine(entry(2, '192.0.2.1', 'webhook-1'), 10);
      await store.quarantine(entry(3, '192.0.2.1', 'webhook-2'), 10);
      await store.quarantine(entry(1, '192.0.2.1', 'webhook-1'), 10);
      const found = (await store.quarantined('webhook-1')).map(({ resource }) => resource);
      expect(found).toEqual(['media:media-2', 'media:media-1']);
      expect(await store.quarantined('webhook-3')).toEqual([]);
    });

    test('makes an event of an entry, when it is admitted, as it was when it came', async () => {
      const { store, clock } = fixture();
      const receivedAt = clock.now();
      await store.quarantine(entry(1), 10);
      await store.quarantine(entry(2), 10);
      await clock.advance(1000);
      const recorded = await store.admit(entry(1).token);
      expect(recorded?.status).toBe('accepted');
      expect(await tokens(store)).toEqual([entry(2).token]);
      const { token, source, digest, ...notification } = entry(1);
      expect(await store.event(recorded?.id ?? ('' as EventId))).toMatchObject({
        ...notification,
        receivedAt,
        lastDeliveryAt: receivedAt,
        status: 'pending',
        deliveries: 1,
      });
    });

    test('admits an entry once, when two connections do so at the same time', async () => {
      const { store, open } = fixture();
      await store.quarantine(entry(1), 10);
      const other = await open();
      const recorded = await Promise.all([store, other, store].map((one) => one.admit(entry(1).token)));
      expect(recorded.filter((one) => one !== undefined)).toHaveLength(1);
      expect(await store.events({}, { limit: 10 })).toMatchObject([{ deliveries: 1 }]);
    });

    test('counts a delivery of an event that is there, when its entry is admitted', async () => {
      const { store } = fixture();
      const { id } = await store.record(entry(1));
      await store.quarantine(entry(1), 10);
      expect(await store.admit(entry(1).token)).toEqual({ status: 'duplicate', id });
      expect(await store.event(id)).toMatchObject({ deliveries: 2 });
    });

    test('admits nothing, when there is no such entry, and takes one again that comes again', async () => {
      const { store } = fixture();
      expect(await store.admit('a token that is not there')).toBeUndefined();
      await store.quarantine(entry(1), 10);
      await store.admit(entry(1).token);
      expect(await store.admit(entry(1).token)).toBeUndefined();
      expect(await store.quarantine(entry(1), 10)).toBe(true);
    });

    test('is no event, when it was not admitted', async () => {
      const { store } = fixture();
      await store.quarantine(entry(1), 10);
      expect(await store.count({})).toBe(0);
      expect((await store.record(entry(1))).status).toBe('accepted');
    });
  });
}
