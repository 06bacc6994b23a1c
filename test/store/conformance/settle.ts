import { describe, expect, test } from '@jest/globals';
import { newOwner } from '../../../src/store/owner.ts';
import {
  claimOne,
  claims,
  DEAD,
  HANDLED,
  LEASE_MS,
  RELEASED,
  SKIPPED,
  waiting,
} from '../../support/claiming.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

export function describeSettling(fixture: CurrentFixture): void {
  describe('settle', () => {
    test('ends an event, when its handler succeeded, as handled with the time', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      await clock.advance(250);
      expect(await store.settle(claim, 'one', HANDLED)).toBe(true);
      expect(await store.event(id)).toMatchObject({
        status: 'handled',
        attempts: 1,
        handledAt: clock.now(),
        lastError: undefined,
        nextAttemptAt: undefined,
      });
      expect(await store.attempts(id)).toEqual([
        {
          replay: 0,
          attempt: 1,
          startedAt: claim.startedAt,
          durationMs: 250,
          outcome: 'handled',
          error: undefined,
        },
      ]);
    });

    test('records which instance ran the handler, when its owner names one', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const owner = newOwner('receiver-1');
      await store.settle(await claimOne(store, { owner }), owner, waiting());
      await store.settle(await claimOne(store), 'one', HANDLED);
      expect((await store.attempts(id)).map(({ instance }) => instance)).toEqual(['receiver-1', undefined]);
    });

    test('records when the handler began and how long it ran, when that is not the time since the claim', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      await clock.advance(5000);
      await store.settle(claim, 'one', { ...HANDLED, waitedMs: 300, ranMs: 40 });
      expect(await store.attempts(id)).toMatchObject([{ startedAt: claim.startedAt + 300, durationMs: 40 }]);
    });

    test('ends an event, when it is not for us, as skipped with the reason and the time', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', SKIPPED);
      expect(await store.event(id)).toMatchObject({
        status: 'skipped',
        lastError: 'not for us',
        handledAt: clock.now(),
      });
    });

    test('ends an event, when it is given up, as dead with the reason and not as handled', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', DEAD);
      expect(await store.event(id)).toMatchObject({
        status: 'dead',
        lastError: 'never',
        handledAt: undefined,
      });
      expect(await claims(store)).toEqual([]);
    });

    test('writes every attempt down, when several were needed, in order with outcome and error', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const outcomes = ['error', 'timeout', 'retry'] as const;
      for (const outcome of outcomes) {
        const claim = await claimOne(store, { maxAttempts: 9 });
        await clock.advance(10);
        await store.settle(claim, 'one', { status: 'pending', outcome, error: `because of ${outcome}` });
      }
      await store.settle(await claimOne(store, { maxAttempts: 9 }), 'one', HANDLED);
      expect(await store.attempts(id)).toMatchObject([
        { attempt: 1, outcome: 'error', error: 'because of error', durationMs: 10 },
        { attempt: 2, outcome: 'timeout', error: 'because of timeout', durationMs: 10 },
        { attempt: 3, outcome: 'retry', error: 'because of retry', durationMs: 10 },
        { attempt: 4, outcome: 'handled', error: undefined, durationMs: 0 },
      ]);
      expect(await store.event(id)).toMatchObject({ status: 'handled', lastError: undefined });
    });

    test('refuses, when the owner never held the event, and changes nothing', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      expect(await store.settle(claim, 'two', HANDLED)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'running', attempts: 1 });
      expect(await store.attempts(id)).toEqual([]);
    });

    test('refuses a second time, when the claim has ended, and keeps the first result', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      await store.settle(claim, 'one', HANDLED);
      expect(await store.settle(claim, 'one', DEAD)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'handled' });
    });

    test('refuses a result, when another owner took the event over, and leaves it with that owner', async () => {
      const { store, open, clock } = fixture();
      const { id } = await store.record(verified());
      const lost = await claimOne(store);
      await clock.advance(LEASE_MS);
      const other = await open();
      const current = await claimOne(other, { owner: 'two' });
      expect(await store.settle(lost, 'one', HANDLED)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'running', attempts: 2 });
      expect(await other.settle(current, 'two', DEAD)).toBe(true);
      expect(await store.event(id)).toMatchObject({ status: 'dead', attempts: 2 });
    });

    test('refuses the result of a lost attempt, when the same owner holds the event again in a later one', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const lost = await claimOne(store, { owner: 'one' });
      await clock.advance(LEASE_MS);
      await claimOne(store, { owner: 'two' });
      await clock.advance(LEASE_MS);
      const current = await claimOne(store, { owner: 'one' });
      expect(await store.settle(lost, 'one', HANDLED)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'running', attempts: 3 });
      expect(await store.settle(current, 'one', DEAD)).toBe(true);
    });

    test('refuses a release that comes twice, when the owner has claimed the event again between, and leaves it the lease', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const before = await claimOne(store);
      const unstarted = { ...waiting(), isUnstarted: true };
      expect(await store.settle(before, 'one', unstarted)).toBe(true);
      await clock.advance(1);
      const again = await claimOne(store);
      expect(again.starts).toBe(before.starts);
      expect(await store.settle(before, 'one', unstarted)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'running' });
      expect(await store.settle(again, 'one', HANDLED)).toBe(true);
    });

    test('refuses a result, when the claim was released, and leaves the event pending', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      await store.settle(claim, 'one', RELEASED);
      expect(await store.settle(claim, 'one', HANDLED)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'pending' });
    });

    test('does not make an event due again, when a time comes with a status that ends it', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', { ...DEAD, afterMs: 1000 });
      await clock.advance(1000);
      await store.record(verified({ media_id: 'other' }));
      expect((await claimOne(store)).resource).toBe('media:other');
      expect(await store.event(id)).toMatchObject({ status: 'dead', nextAttemptAt: undefined });
    });
  });

  describe('late', () => {
    test.each([
      ['handled', HANDLED, true],
      ['skipped', SKIPPED, false],
      ['given up', DEAD, false],
      ['tried in vain', waiting(10 ** 12), false],
    ])('tells an older event, when a newer one of its resource was %s', async (_, settlement, late) => {
      const { store } = fixture();
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await store.settle(await claimOne(store), 'one', settlement);
      await store.record(verified({ at: EVENT_TIME }));
      expect((await claimOne(store)).late).toBe(late);
    });

    test.each([
      ['of another resource', { at: EVENT_TIME, media_id: 'other' }],
      ['newer itself', { at: EVENT_TIME + 2000 }],
      ['of the same moment', { at: EVENT_TIME + 1000, event: 'media_updated' }],
    ])('does not tell an event, when it is %s', async (_, members) => {
      const { store } = fixture();
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await store.settle(await claimOne(store), 'one', HANDLED);
      await store.record(verified(members));
      expect((await claimOne(store)).late).toBe(false);
    });

    test('does not tell an older event, when it first ran before a newer one was handled', async () => {
      const { store, clock } = fixture();
      await store.record(verified({ at: EVENT_TIME }));
      await store.settle(await claimOne(store), 'one', waiting(1000));
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await store.settle(await claimOne(store), 'one', HANDLED);
      await clock.advance(1000);
      expect(await claimOne(store)).toMatchObject({ attempts: 2, late: false });
    });
  });
}
