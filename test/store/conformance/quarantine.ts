import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EventId } from '../../../src/store/event-id.ts';
import type { EventStore, ToQuarantine } from '../../../src/store/event-store.ts';
import { runs } from '../../support/sizes.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

type Entry = ToQuarantine;

const byName = (one: { webhookId: string }, other: { webhookId: string }) =>
  one.webhookId < other.webhookId ? -1 : 1;
const ROOMY = 1_000_000;
const A = '198.51.100.1';
const B = '203.0.113.19';

/** All of the same size, whatever the number below 10,000. */
function entry(number: number, source = A, webhook = 'webhook-1'): Entry {
  const place = String(number).padStart(4, '0');
  const notification = verified({ media_id: `media-${place}`, webhook_id: webhook });
  return { ...notification, token: `token-${source}-${webhook}-${place}`, source };
}

async function tokens(store: EventStore): Promise<string[]> {
  return (await store.quarantined()).map(({ token }) => token);
}

/** What one entry takes, by one that stays. */
async function bytesOfOne(store: EventStore, first: Entry): Promise<number> {
  await store.quarantine(first, ROOMY);
  return (await store.quarantined())[0]?.bytes ?? 0;
}

/** An address in a network of its own, all of them equally long. */
const network = (number: number) => `10.${100 + (number >> 6)}.${100 + (number & 63)}.9`;

export function describeQuarantine(fixture: CurrentFixture): void {
  describe('quarantine', () => {
    test('keeps an entry, when it is new, with all that it takes to admit it later', async () => {
      const { store, open, clock } = fixture();
      const given = entry(1);
      const receivedAt = clock.now();
      expect(await store.quarantine(given, ROOMY)).toEqual({ isKept: true, lost: 0 });
      await clock.advance(1000);
      const [kept] = await (await open()).quarantined();
      expect({ ...kept, digest: Buffer.from(kept?.digest ?? []) }).toEqual({
        ...given,
        digest: Buffer.from(given.digest),
        receivedAt,
        place: expect.any(Number),
        bytes: expect.any(Number),
        deliveries: 1,
      });
      expect(kept?.bytes).toBeGreaterThan(given.token.length + given.body.length + given.source.length);
    });

    test('says whether anything waits, when it is empty, filled, and emptied again', async () => {
      const { store } = fixture();
      expect(await store.hasQuarantined()).toBe(false);
      await store.quarantine(entry(1), ROOMY);
      expect(await store.hasQuarantined()).toBe(true);
      await store.admit(entry(1).token);
      expect(await store.hasQuarantined()).toBe(false);
    });

    test('refuses an entry, when its token is there already, and keeps the first', async () => {
      const { store } = fixture();
      await store.quarantine(entry(1), ROOMY);
      expect(await store.quarantine({ ...entry(1), source: B }, ROOMY)).toEqual({
        isKept: false,
        lost: 0,
      });
      expect(await store.quarantined()).toMatchObject([{ source: A }]);
    });

    test('keeps nothing, when it may hold nothing', async () => {
      const { store } = fixture();
      expect(await store.quarantine(entry(1), 0)).toEqual({ isKept: false, lost: 0 });
      expect(await store.quarantined()).toEqual([]);
    });

    test('keeps the oldest, when one network fills it for one webhook, and counts what it has no room for', async () => {
      const { store } = fixture();
      const room = 3 * (await bytesOfOne(store, entry(0)));
      const kept = [];
      for (let number = 1; number < 7; number++) kept.push(await store.quarantine(entry(number), room));
      expect(kept.map(({ isKept }) => isKept)).toEqual([true, true, false, false, false, false]);
      expect(await tokens(store)).toEqual([0, 1, 2].map((number) => entry(number).token));
      expect(await store.overview()).toMatchObject({ quarantined: 3, quarantineLost: 4 });
    });

    test('keeps what is larger out, when it has no room for it alone, and all else in', async () => {
      const { store } = fixture();
      const room = 3 * (await bytesOfOne(store, entry(0)));
      const large = { ...entry(1, B), body: 'x'.repeat(room) };
      expect(await store.quarantine(large, room)).toEqual({ isKept: false, lost: 1 });
      expect(await tokens(store)).toEqual([entry(0).token]);
    });

    test.each([
      ['one network for one webhook', () => B, () => 'webhook-1'],
      ['one network for many webhooks', () => B, (number: number) => `hook-${1000 + number}`],
      ['many addresses of one network', (number: number) => `203.0.113.${100 + number}`, () => 'webhook-2'],
      ['many networks for another webhook', network, () => 'webhook-2'],
    ])(
      'keeps what one network sent for a webhook, when it is flooded by %s',
      async (_what, source, webhook) => {
        const { store } = fixture();
        const room = 8 * (await bytesOfOne(store, entry(0)));
        const genuine = [entry(0), entry(1), entry(2)];
        for (let number = 0; number < 60; number++) {
          await store.quarantine(entry(100 + number, source(number), webhook(number)), room);
          if (number === 30) for (const one of genuine) await store.quarantine(one, room);
        }
        expect(await tokens(store)).toEqual(expect.arrayContaining(genuine.map(({ token }) => token)));
        const bytes = (await store.quarantined()).reduce((sum, one) => sum + one.bytes, 0);
        expect(bytes).toBeLessThanOrEqual(room);
      },
    );

    test('leaves a webhook its fair part, when many networks flood it: its first ones stay', async () => {
      const { store } = fixture();
      const room = 20 * (await bytesOfOne(store, entry(0)));
      await store.quarantine(entry(1), room);
      for (let number = 0; number < 100; number++)
        await store.quarantine(entry(number, network(number)), room);
      expect(await tokens(store)).toContain(entry(0).token);
      expect(await store.quarantineSize()).toBe(20);
    });

    test('counts what was lost before it came, when it is told', async () => {
      const { store } = fixture();
      await store.quarantine(entry(1), ROOMY);
      for (const lost of [3, 4]) await store.countLost(lost);
      expect(await store.overview()).toMatchObject({ quarantined: 1, quarantineLost: 7 });
    });

    test('counts what it holds and what was lost, when anything comes, is admitted and gives way, in any order', async () => {
      const sent = fc.record({
        number: fc.nat(30),
        source: fc.constantFrom(A, B, '10.100.100.9'),
        webhook: fc.constantFrom('webhook-1', 'webhook-2', 'webhook-3'),
        isAdmitted: fc.boolean(),
      });
      const room = fc.integer({ min: 0, max: 12_000 });
      const property = fc.asyncProperty(fc.array(fc.tuple(sent, room), { maxLength: 40 }), async (steps) => {
        const { store } = fixture();
        const before = await store.overview();
        let held = before.quarantined;
        let lost = before.quarantineLost;
        for (const [{ number, source, webhook, isAdmitted }, maxBytes] of steps) {
          const one = entry(number, source, webhook);
          if (isAdmitted) {
            if (await store.admit(one.token)) held--;
            continue;
          }
          const result = await store.quarantine(one, maxBytes);
          lost += result.lost;
          held += result.isKept ? 1 - result.lost : result.lost === 0 ? 0 : 1 - result.lost;
        }
        const all = await store.quarantined();
        expect(all).toHaveLength(held);
        expect(await store.overview()).toMatchObject({ quarantined: held, quarantineLost: lost });
        const webhooks = Map.groupBy(all, ({ webhookId }) => webhookId);
        expect(await store.waitingWebhooks()).toEqual(
          [...webhooks]
            .map(([webhookId, { length }]) => ({ webhookId, notifications: length }))
            .toSorted(byName),
        );
        for (const [webhookId, { length }] of webhooks)
          expect(await store.quarantineSize(webhookId)).toBe(length);
      });
      await fc.assert(property, { numRuns: runs(20) });
    });

    test('shrinks, when it may hold less than before, at the cost of what holds most', async () => {
      const { store } = fixture();
      const one = await bytesOfOne(store, entry(0, B));
      for (let number = 1; number < 6; number++) await store.quarantine(entry(number, B), ROOMY);
      await store.quarantine(entry(1), ROOMY);
      expect(await store.quarantine(entry(2), 3 * one)).toEqual({ isKept: false, lost: 5 }); // equal by then
      expect(await tokens(store)).toEqual([entry(0, B).token, entry(1, B).token, entry(1).token]);
    });

    test('is read in pages, when it is large, in order and whole, each of them small', async () => {
      const { store } = fixture();
      const body = 'x'.repeat(300_000);
      for (let number = 0; number < 9; number++) {
        await store.quarantine({ ...entry(number), body }, 100_000_000);
        await store.quarantine(entry(number, B, 'webhook-2'), 100_000_000);
      }
      const found: string[] = [];
      let after: number | undefined;
      for (;;) {
        const page = await store.quarantined({ webhook: 'webhook-1', after });
        if (page.length === 0) break;
        expect(page.length).toBeLessThan(6);
        found.push(...page.map(({ token }) => token));
        after = page.at(-1)?.place;
      }
      expect(found).toEqual(Array.from({ length: 9 }, (_, number) => entry(number).token));
      const [first] = await store.unproven({ webhook: 'webhook-2' });
      expect(first).toMatchObject({ source: B, webhookId: 'webhook-2' });
      expect(first).not.toHaveProperty('token');
      expect((await store.quarantineSummary(100)).newest.length).toBeLessThan(12);
    });

    test('tells the entries of one webhook, when asked for it, oldest first', async () => {
      const { store } = fixture();
      await store.quarantine(entry(2, A, 'webhook-1'), ROOMY);
      await store.quarantine(entry(3, A, 'webhook-2'), ROOMY);
      await store.quarantine(entry(1, A, 'webhook-1'), ROOMY);
      const found = (await store.quarantined({ webhook: 'webhook-1' })).map(({ resource }) => resource);
      expect(found).toEqual(['media:media-0002', 'media:media-0001']);
      expect(await store.quarantined({ webhook: 'webhook-3' })).toEqual([]);
    });

    test('makes an event of an entry, when it is admitted, as it was when it came', async () => {
      const { store, clock } = fixture();
      const receivedAt = clock.now();
      await store.quarantine(entry(1), ROOMY);
      await store.quarantine(entry(2), ROOMY);
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
      await store.quarantine(entry(1), ROOMY);
      const other = await open();
      const recorded = await Promise.all([store, other, store].map((one) => one.admit(entry(1).token)));
      expect(recorded.filter((one) => one !== undefined)).toHaveLength(1);
      expect(await store.events({}, { limit: 10 })).toMatchObject([{ deliveries: 1 }]);
    });

    test('counts a delivery of an event that is there, when its entry is admitted', async () => {
      const { store } = fixture();
      const { id } = await store.record(entry(1));
      await store.quarantine(entry(1), ROOMY);
      expect(await store.admit(entry(1).token)).toEqual({ status: 'duplicate', id });
      expect(await store.event(id)).toMatchObject({ deliveries: 2 });
    });

    test('admits nothing, when there is no such entry, and takes one again that comes again', async () => {
      const { store } = fixture();
      expect(await store.admit('a token that is not there')).toBeUndefined();
      await store.quarantine(entry(1), ROOMY);
      await store.admit(entry(1).token);
      expect(await store.admit(entry(1).token)).toBeUndefined();
      expect(await store.quarantine(entry(1), ROOMY)).toMatchObject({ isKept: true });
    });

    test('is no event, when it was not admitted', async () => {
      const { store } = fixture();
      await store.quarantine(entry(1), ROOMY);
      expect(await store.count({})).toBe(0);
      expect((await store.record(entry(1))).status).toBe('accepted');
    });
  });
}
