import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EventStore, ToQuarantine } from '../../../src/store/event-store.ts';
import { only } from '../../support/only.ts';
import { runs, size } from '../../support/sizes.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

const GENUINE = '198.51.100.1';
const WEBHOOK = 'hook-0000';

/** All of the same size, whatever the numbers below 10,000. */
function entry(number: number, source = GENUINE, webhook = WEBHOOK): ToQuarantine {
  const place = String(number).padStart(4, '0');
  const notification = verified({ media_id: `media-${place}`, webhook_id: webhook });
  return { ...notification, token: `token-${source}-${webhook}-${place}`, source };
}

/** An address in a network of its own, all of them as long as the genuine one. */
const address = (number: number) => `10.10${Math.floor(number / 90) % 10}.${10 + (number % 90)}.19`;
/** More than there is room for, even of one notification each. */
const SOURCES = size({ small: 150, full: 400 });
const hook = (number: number) => `hook-${1000 + number}`;

async function keptOf(store: EventStore, entries: readonly ToQuarantine[]): Promise<number> {
  const all = new Set<string>();
  for (let after: number | undefined; ; ) {
    const page = await store.quarantined({ after });
    if (page.length === 0) break;
    for (const { token } of page) all.add(token);
    after = page.at(-1)?.place;
  }
  return entries.filter(({ token }) => all.has(token)).length;
}

async function sizeOfOne(store: EventStore): Promise<number> {
  await store.quarantine(entry(9999), 1_000_000);
  const { bytes } = only(await store.quarantined());
  await store.admit(entry(9999).token);
  return bytes;
}

export function describeQuarantineShares(fixture: CurrentFixture): void {
  describe('the shares of the quarantine', () => {
    const genuine = Array.from({ length: 60 }, (_, number) => entry(number));

    test.each([
      ['one webhook, the same', () => WEBHOOK, 1],
      ['one webhook, the same, with many each', () => WEBHOOK, 5],
      ['a webhook each, all made up', hook, 1],
      ['the same webhook and made up ones in turns', (n: number) => (n % 2 ? WEBHOOK : hook(n)), 1],
    ])(
      `keep all 60 notifications of one source, when ${SOURCES} sources name %s`,
      async (_what, webhookOf, each) => {
        const { store } = fixture();
        const room = 120 * (await sizeOfOne(store));
        for (const one of genuine) await store.quarantine(one, room);
        for (let number = 0; number < SOURCES * each; number++) {
          const source = number % SOURCES;
          await store.quarantine(entry(number, address(source), webhookOf(source)), room);
        }
        expect(await keptOf(store, genuine)).toBe(60);
        expect(await store.quarantineSize()).toBe(120);
      },
    );

    test('let a source in, when one other has filled them for the same webhook, until both have the same', async () => {
      const { store } = fixture();
      const room = 40 * (await sizeOfOne(store));
      for (let number = 0; number < 60; number++) await store.quarantine(entry(number, address(1)), room);
      for (const one of genuine) await store.quarantine(one, room);
      expect(await keptOf(store, genuine)).toBe(20);
    });

    test.each([2, 3, 4])(
      'let a source in, when %d others have filled them for the same webhook',
      async (others) => {
        const { store } = fixture();
        const room = 60 * (await sizeOfOne(store));
        for (let number = 0; number < 200; number++)
          await store.quarantine(entry(number, address(number % others)), room);
        for (const one of genuine) await store.quarantine(one, room);
        expect(await keptOf(store, genuine)).toBeGreaterThanOrEqual(Math.floor(60 / (others + 1)));
      },
    );

    test('keep the webhooks of a source apart, when it names one genuine one and many made up ones, as behind a proxy', async () => {
      const { store } = fixture();
      const room = 100 * (await sizeOfOne(store));
      for (const one of genuine) await store.quarantine(one, room);
      for (let number = 0; number < 300; number++)
        await store.quarantine(entry(number, GENUINE, hook(number)), room);
      expect(await keptOf(store, genuine)).toBe(60);
    });

    test('are bounded and keep the first of all, when anything comes in any order', async () => {
      const sent = fc.record({ number: fc.nat(400), source: fc.nat(12), webhook: fc.nat(6) });
      const property = fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 80 }), async (all) => {
        const { store } = fixture();
        for (const { token } of await store.quarantined()) await store.admit(token);
        const room = 20 * (await sizeOfOne(store));
        for (const { number, source, webhook } of all)
          await store.quarantine(entry(number, address(source), hook(webhook)), room);
        const kept = await store.quarantined();
        const bytes = kept.reduce((sum, one) => sum + one.bytes, 0);
        expect(bytes).toBeLessThanOrEqual(room);
        const distinct = new Set(all.map(({ number, source, webhook }) => `${number} ${source} ${webhook}`));
        if (distinct.size >= 20) expect(kept.length).toBe(20);
        const [first] = all;
        if (first)
          expect(await keptOf(store, [entry(first.number, address(first.source), hook(first.webhook))])).toBe(
            1,
          );
      });
      await fc.assert(property, { numRuns: runs(30) });
    });
  });

  describe('the deliveries of a quarantined notification', () => {
    test('are counted and admitted with it, when it comes again, with the time of the last', async () => {
      const { store, clock } = fixture();
      const receivedAt = clock.now();
      for (let count = 0; count < 4; count++) {
        await store.quarantine(entry(1), 1_000_000);
        await clock.advance(1000);
      }
      expect(await store.unproven()).toMatchObject([{ deliveries: 4, receivedAt }]);
      const recorded = await store.admit(entry(1).token);
      expect(recorded?.status).toBe('accepted');
      expect(await store.events({}, { limit: 5 })).toMatchObject([
        { deliveries: 4, receivedAt, lastDeliveryAt: receivedAt + 3000 },
      ]);
      await store.quarantine(entry(1), 1_000_000);
      expect(await store.unproven()).toMatchObject([{ deliveries: 1 }]); // the former ones are gone with it
    });

    test('add to those of an event, when it was recorded meanwhile, and only what the entry counts', async () => {
      const { store, clock } = fixture();
      await store.quarantine(entry(1), 1_000_000);
      await clock.advance(1000);
      await store.quarantine(entry(1), 1_000_000);
      await store.quarantine(entry(1), 0); // nothing may be kept: not counted
      await clock.advance(1000);
      const recordedAt = clock.now();
      await store.record(entry(1));
      expect((await store.admit(entry(1).token))?.status).toBe('duplicate');
      expect(await store.events({}, { limit: 5 })).toMatchObject([
        { deliveries: 3, receivedAt: recordedAt, lastDeliveryAt: recordedAt },
      ]);
    });
  });
}
