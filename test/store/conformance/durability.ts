import { describe, expect, test } from '@jest/globals';
import { claimOne, claims, doSteps, HANDLED, LEASE_MS, settleAll, waiting } from '../../support/claiming.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

export function describeDurability(fixture: CurrentFixture): void {
  describe('many calls at once', () => {
    test('all resolve, when more come than one commit takes, each with an id of its own', async () => {
      const { store } = fixture();
      const numbers = Array.from({ length: 1300 }, (_, number) => number);
      const recorded = await Promise.all(
        numbers.map((number) => store.record(verified({ media_id: `media-${number}`, at: EVENT_TIME }))),
      );
      expect(recorded.every(({ status }) => status === 'accepted')).toBe(true);
      expect(new Set(recorded.map(({ id }) => id)).size).toBe(numbers.length);
      expect(await store.count({ status: 'pending' })).toBe(numbers.length);
    });

    test('accept each event once, when two instances record the same ones at the same moment', async () => {
      const { store, open } = fixture();
      const stores = [store, await open()];
      const numbers = Array.from({ length: 200 }, (_, number) => number);
      const recorded = await Promise.all(
        stores.flatMap((one) =>
          numbers.map((number) => one.record(verified({ media_id: `media-${number}` }))),
        ),
      );
      const accepted = recorded.filter(({ status }) => status === 'accepted');
      expect(accepted).toHaveLength(200);
      expect(new Set(accepted.map(({ id }) => id)).size).toBe(200);
      const all = await store.events({}, { limit: 300 });
      expect(all.map(({ deliveries }) => deliveries)).toEqual(numbers.map(() => 2));
    });

    test('lose nothing, when events are recorded, claimed and settled by two instances at the same time', async () => {
      const { store, open } = fixture();
      const handled: string[] = [];
      let recording = true;
      const work = async (owner: string, worker: typeof store) => {
        for (;;) {
          const goesOn = recording;
          const ready = await claims(worker, { owner, limit: 7 });
          if (ready.length === 0 && !goesOn) return;
          const settled = ready.map((claim) => worker.settle(claim, owner, HANDLED));
          expect(await Promise.all(settled)).toEqual(ready.map(() => true));
          handled.push(...ready.map(({ id }) => id));
        }
      };
      const workers = [work('one', store), work('two', await open())];
      for (let round = 0; round < 20; round++) {
        const burst = Array.from({ length: 10 }, (_, number) =>
          store.record(verified({ media_id: `media-${number}`, at: EVENT_TIME + round * 1000 })),
        );
        await Promise.all(burst);
      }
      recording = false;
      await Promise.all(workers);
      expect(handled).toHaveLength(200);
      expect(new Set(handled).size).toBe(200);
      expect(await store.count({ status: 'handled' })).toBe(200);
    });
  });

  describe('close and open again', () => {
    test('finds everything, when the database was closed in order, as it was', async () => {
      const { store, open } = fixture();
      const done = await store.record(verified({ media_id: 'done' }));
      await doSteps(store, done.id, { announce: '1' });
      await settleAll(store, HANDLED);
      await store.record(verified({ media_id: 'waits' }));
      await store.settle(await claimOne(store), 'one', waiting(1000));
      await store.addSecret('webhook-1', 'secret');
      await store.quarantine({ ...verified({ media_id: 'odd' }), token: 'token', source: '::1' }, 100_000);
      const look = async (one: typeof store) => [
        await one.events({}, { limit: 10 }),
        await one.attempts(done.id),
        await one.step(done.id, 'announce'),
        await one.secrets(),
        await one.quarantined(),
      ];
      const before = await look(store);
      await store.close();
      expect(await look(await open())).toEqual(before);
    });

    test('keeps a lease, when the one who holds it went away without a word, until it runs out', async () => {
      const { store, open, clock } = fixture();
      const { id } = await store.record(verified());
      await claimOne(store);
      await store.close();
      const next = await open();
      expect(await claims(next, { owner: 'two' })).toEqual([]);
      await clock.advance(LEASE_MS);
      expect(await claimOne(next, { owner: 'two' })).toMatchObject({ id, attempts: 2 });
    });

    test('commits the writes under way, when it is closed meanwhile, and refuses later ones', async () => {
      const { store, open } = fixture();
      const underWay = Array.from({ length: 50 }, (_, number) =>
        store.record(verified({ media_id: `media-${number}` })),
      );
      const closed = store.close();
      expect(new Set((await Promise.all(underWay)).map(({ status }) => status))).toEqual(
        new Set(['accepted']),
      );
      await closed;
      await expect(store.record(verified())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await expect(store.count({})).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      expect(await (await open()).count({})).toBe(50);
    });

    test('resolves each time, when it is closed several times while calls are under way', async () => {
      const { store } = fixture();
      const underWay = store.record(verified());
      await Promise.all([store.close(), store.close(), underWay]);
      await store.close();
    }, 5000);
  });

  describe('ping', () => {
    test('resolves, when the store can commit', async () => {
      await expect(fixture().store.ping()).resolves.toBeUndefined();
    });
  });
}
