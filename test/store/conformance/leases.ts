import { describe, expect, test } from '@jest/globals';
import { newOwner } from '../../../src/store/owner.ts';
import { claimOne, claims, HANDLED, LEASE_MS, MAX_ATTEMPTS, request } from '../../support/claiming.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

export function describeLeases(fixture: CurrentFixture): void {
  describe('a lease that runs out', () => {
    test('keeps its event from others, when it is not over yet, to the last millisecond', async () => {
      const { store, open, clock } = fixture();
      await store.record(verified());
      await claimOne(store);
      await clock.advance(LEASE_MS - 1);
      expect(await claims(await open(), { owner: 'two' })).toEqual([]);
    });

    test('gives its event to another instance, when it is over, with the lost attempt counted', async () => {
      const { store, open, clock } = fixture();
      const { id } = await store.record(verified());
      const startedAt = clock.now();
      await claimOne(store, { owner: newOwner('receiver-1') });
      await clock.advance(LEASE_MS);
      const other = await open();
      expect(await claimOne(other, { owner: 'two' })).toMatchObject({ id, attempts: 2 });
      expect(await other.attempts(id)).toEqual([
        {
          replay: 0,
          attempt: 1,
          startedAt,
          durationMs: LEASE_MS,
          outcome: 'lost',
          error: expect.stringMatching(/crash|lease/),
          instance: 'receiver-1',
        },
      ]);
    });

    test('is another one, when its instance crashed and starts again under the same name', async () => {
      const { store, open, clock } = fixture();
      await store.record(verified());
      const [before, since] = [newOwner('receiver-1'), newOwner('receiver-1')];
      await claimOne(store, { owner: before });
      const again = await open();
      expect(await again.renew(since, LEASE_MS)).toEqual([]);
      await clock.advance(LEASE_MS);
      expect(await claimOne(again, { owner: since })).toMatchObject({ attempts: 2 });
    });

    test('ends its event as dead, when that was the last attempt, with the reason', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      for (const owner of ['one', 'two', 'three']) {
        expect((await claimOne(store, { owner })).attempts).toBeLessThanOrEqual(3);
        await clock.advance(LEASE_MS);
      }
      expect(await store.claim(request({ owner: 'four' }))).toEqual({ claims: [], dueInMs: undefined });
      expect(await store.event(id)).toMatchObject({
        status: 'dead',
        attempts: 3,
        handledAt: undefined,
        lastError: expect.stringMatching(/crash|lease/),
      });
      const outcomes = (await store.attempts(id)).map(({ attempt, outcome }) => [attempt, outcome]);
      expect(outcomes).toEqual([1, 2, 3].map((attempt) => [attempt, 'lost']));
    });

    const NUMBERS = [0, 1, 2, 3];
    const recordFour = async () => {
      for (const number of [2, 0, 3, 1])
        await fixture().store.record(verified({ media_id: `media-${number}`, at: EVENT_TIME + number }));
    };

    test('gives back all at once, when several ran out together at their first attempts', async () => {
      const { store, clock } = fixture();
      await recordFour();
      await claims(store);
      await clock.advance(LEASE_MS);
      expect(await claims(store, { owner: 'two' })).toMatchObject(
        NUMBERS.map((number) => ({ resource: `media:media-${number}`, attempts: 2 })),
      );
    });

    test.each([
      ['at their second attempts', MAX_ATTEMPTS, 2],
      ['and but one attempt is left', 2, 1],
    ])(
      'gives back one at once and the others after it, oldest first, when several ran out together %s',
      async (_, maxAttempts, losses) => {
        const { store, clock } = fixture();
        await recordFour();
        for (let loss = 0; loss < losses; loss++) {
          expect(await claims(store, { owner: `lost-${loss}`, maxAttempts })).toHaveLength(NUMBERS.length);
          await clock.advance(LEASE_MS);
        }
        for (const number of NUMBERS) {
          const next = await claimOne(store, { owner: 'last', maxAttempts });
          expect(next).toMatchObject({ resource: `media:media-${number}`, attempts: losses + 1 });
          await store.settle(next, 'last', HANDLED);
          await clock.advance(LEASE_MS / NUMBERS.length);
        }
      },
    );

    test('gives back one at a time, when all that were lost together are due before anyone asks again', async () => {
      const { store, clock } = fixture();
      await recordFour();
      const maxAttempts = 4;
      for (const owner of ['one', 'two']) {
        expect(await claims(store, { owner, maxAttempts })).toHaveLength(NUMBERS.length);
        await clock.advance(LEASE_MS);
      }
      const { resource } = await claimOne(store, { owner: 'ends', maxAttempts });
      expect(resource).toBe('media:media-0');
      // The process ends with it, and starts again after a while: what was next comes first, and alone.
      await clock.advance(100 * LEASE_MS);
      for (const number of [1, 2, 3, 0]) {
        const next = await claimOne(store, { owner: 'last', maxAttempts });
        expect(next.resource).toBe(`media:media-${number}`);
        expect(await claims(store, { owner: 'other', maxAttempts })).toEqual([]);
        await store.settle(next, 'last', HANDLED);
        await clock.advance(LEASE_MS / 3);
      }
    });

    test('stays with its owner, when that one asks itself, however long ago it ran out', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      await clock.advance(100 * LEASE_MS);
      expect(await store.claim(request())).toEqual({ claims: [], dueInMs: undefined });
      expect(await store.event(id)).toMatchObject({ status: 'running', attempts: 1 });
      expect(await store.settle(claim, 'one', HANDLED)).toBe(true);
    });

    test('stays with its owner, when others are to spare it, until they are not', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      await claimOne(store);
      await clock.advance(LEASE_MS);
      expect(await claims(store, { owner: 'two', spareLost: true })).toEqual([]);
      expect(await claims(store, { owner: 'two' })).toHaveLength(1);
    });

    test('lets the next event of its resource go on, when its own event is dead', async () => {
      const { store, clock } = fixture();
      await store.record(verified({ at: EVENT_TIME }));
      await claimOne(store, { maxAttempts: 1 });
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await clock.advance(LEASE_MS);
      const next = await claimOne(store, { owner: 'two', maxAttempts: 1 });
      expect(next.eventTime).toBe(EVENT_TIME + 1000);
    });
  });

  describe('an owner that does not know of its lease', () => {
    test('gets the event again, when the lease has run out, as one that was lost', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await claimOne(store);
      await clock.advance(LEASE_MS - 1);
      expect(await claims(store, { has: [] })).toEqual([]);
      await clock.advance(1);
      expect(await claims(store, { has: [], spareLost: true })).toEqual([]);
      expect(await claims(store, { has: [] })).toMatchObject([{ id, attempts: 2 }]);
      expect(await store.attempts(id)).toMatchObject([{ attempt: 1, outcome: 'lost' }]);
    });

    test('does not get it, when the event is among those that it has, however long ago its lease ran out', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      const { place } = await claimOne(store);
      await clock.advance(2 * LEASE_MS);
      expect(await claims(store, { has: [place] })).toEqual([]);
      expect(await claims(store)).toEqual([]);
    });
  });

  describe('renew', () => {
    test('keeps an event, when it is renewed in time, however long it runs', async () => {
      const { store, open, clock } = fixture();
      const { id } = await store.record(verified());
      await claimOne(store);
      const other = await open();
      for (let round = 0; round < 5; round++) {
        await clock.advance(LEASE_MS - 1);
        expect(await store.renew('one', LEASE_MS)).toEqual([id]);
        expect(await claims(other, { owner: 'two' })).toEqual([]);
      }
      expect(await store.event(id)).toMatchObject({ status: 'running', attempts: 1 });
    });

    test('tells what an owner still holds, when another took one of its events, without that one', async () => {
      const { store, clock } = fixture();
      const slow = await store.record(verified({ media_id: 'slow' }));
      await claimOne(store, { leaseMs: 1000 });
      const quick = await store.record(verified({ media_id: 'quick' }));
      await claimOne(store, { leaseMs: 10_000 });
      await clock.advance(1000);
      expect((await claimOne(store, { owner: 'two' })).id).toBe(slow.id);
      expect(await store.renew('one', LEASE_MS)).toEqual([quick.id]);
      expect(await store.renew('two', LEASE_MS)).toEqual([slow.id]);
    });

    test('keeps only the events that are named, when some are, and lets the others run out', async () => {
      const { store, clock } = fixture();
      const [kept, left] = [verified({ media_id: 'kept' }), verified({ media_id: 'left' })];
      for (const one of [kept, left]) await store.record(one);
      const [first, second] = await claims(store, { limit: 2 });
      await clock.advance(LEASE_MS - 1);
      expect(await store.renew('one', LEASE_MS, [])).toEqual([]);
      expect(await store.renew('one', LEASE_MS, [first?.place ?? 0])).toEqual([first?.id]);
      await clock.advance(1);
      expect(await claims(store, { owner: 'two', limit: 2 })).toMatchObject([
        { id: second?.id, attempts: 2 },
      ]);
    });

    test('returns nothing, when the owner holds nothing or its events have ended', async () => {
      const { store } = fixture();
      await store.record(verified());
      const claim = await claimOne(store);
      await store.settle(claim, 'one', HANDLED);
      expect(await store.renew('one', LEASE_MS)).toEqual([]);
      expect(await store.renew('nobody', LEASE_MS)).toEqual([]);
    });
  });
}
