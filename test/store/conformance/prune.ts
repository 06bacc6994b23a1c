import { describe, expect, test } from '@jest/globals';
import {
  claimOne,
  claims,
  DEAD,
  doSteps,
  HANDLED,
  SKIPPED,
  settleAll,
  waiting,
} from '../../support/claiming.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

export function describePruning(fixture: CurrentFixture): void {
  describe('prune', () => {
    test.each([
      ['handled', HANDLED],
      ['skipped', SKIPPED],
    ])('removes body, attempts and steps, when the event was %s before the time', async (status, end) => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await doSteps(store, id, { announce: '1' });
      await settleAll(store, end);
      const before = await store.event(id);
      await clock.advance(1);
      expect(await store.prune(clock.now(), 10)).toBe(1);
      expect(await store.event(id)).toEqual({ ...before, body: undefined, lastError: undefined });
      expect(before?.status).toBe(status);
      expect(await store.attempts(id)).toEqual([]);
      expect(await store.step(id, 'announce')).toBeUndefined();
    });

    test('removes nothing, when the event was handled at that very time or later', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await settleAll(store, HANDLED);
      expect(await store.prune(clock.now(), 10)).toBe(0);
      expect((await store.event(id))?.body).toBeDefined();
      expect(await store.attempts(id)).toHaveLength(1);
    });

    test('leaves events alone, when they are pending, waiting, running or dead, however old they are', async () => {
      const { store, clock } = fixture();
      await store.record(verified({ media_id: 'dead' }));
      await store.settle(await claimOne(store), 'one', DEAD);
      await store.record(verified({ media_id: 'waiting' }));
      await store.settle(await claimOne(store), 'one', waiting(1000));
      await store.record(verified({ media_id: 'running' }));
      await claimOne(store);
      await store.record(verified({ media_id: 'ready' }));
      await clock.advance(1_000_000);
      const before = await store.events({}, { limit: 10 });
      expect(await store.prune(clock.now() + 1, 10)).toBe(0);
      expect(await store.events({}, { limit: 10 })).toEqual(before);
      expect(before.every(({ body }) => body !== undefined)).toBe(true);
    });

    test('leaves an event alone, when it was handled long ago and is replayed now', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await settleAll(store, HANDLED);
      await clock.advance(1_000_000);
      await store.replay({});
      expect(await store.prune(clock.now(), 10)).toBe(0);
      expect(await claimOne(store)).toMatchObject({ id, body: verified().body });
    });

    test('keeps the identity, when a pruned event comes again, so that it is a duplicate', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await settleAll(store, HANDLED);
      await store.prune(clock.now() + 1, 10);
      expect(await store.record(verified())).toEqual({ status: 'duplicate', id });
      expect(await store.event(id)).toMatchObject({ status: 'handled', deliveries: 2, body: undefined });
      expect(await claims(store)).toEqual([]);
    });

    test('keeps an event from replay, when its body is gone, as handled', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await settleAll(store, HANDLED);
      await store.prune(clock.now() + 1, 10);
      expect(await store.replay({ ids: [id] })).toBe(0);
      expect(await store.event(id)).toMatchObject({ status: 'handled', replays: 0 });
    });

    test('keeps telling older events late, when the newer one was pruned', async () => {
      const { store, clock } = fixture();
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await settleAll(store, HANDLED);
      await store.prune(clock.now() + 1, 10);
      await store.record(verified({ at: EVENT_TIME }));
      expect((await claimOne(store)).late).toBe(true);
    });

    test('goes in small steps, when much is old, oldest first until nothing is left', async () => {
      const { store, clock } = fixture();
      for (let number = 0; number < 7; number++) {
        await store.record(verified({ media_id: `media-${number}` }));
        await settleAll(store, HANDLED);
        await clock.advance(1000);
      }
      const steps: number[] = [];
      for (let pruned = 3; pruned > 0; steps.push(pruned)) pruned = await store.prune(clock.now(), 3);
      expect(steps).toEqual([3, 3, 1, 0]);
      expect(await store.count({ status: 'handled' })).toBe(7);
    });

    test('takes only the events that are named, when some are, and no others however old', async () => {
      const { store, clock } = fixture();
      const ids: string[] = [];
      for (const name of ['first', 'second', 'third']) {
        ids.push((await store.record(verified({ media_id: name }))).id);
        await settleAll(store, HANDLED);
        await clock.advance(1000);
      }
      const [first, second, third] = ids;
      const among = [third, second, 'nonsense'].filter((id) => id !== undefined);
      expect(await store.prune(clock.now(), 10, [])).toBe(0);
      expect(await store.prune(clock.now() - 1000, 10, among)).toBe(1); // the third ended at that very time
      expect(await store.prune(clock.now(), 10, among)).toBe(1);
      expect(await store.prune(clock.now(), 10, among)).toBe(0);
      const left = (await store.events({}, { limit: 10 })).filter(({ body }) => body !== undefined);
      expect(left.map(({ id }) => id)).toEqual([first]);
    });

    test('leaves a named event alone, when it has not ended', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      expect(await store.prune(clock.now() + 1, 10, [id])).toBe(0);
      expect((await store.event(id))?.body).toBeDefined();
    });

    test('takes the oldest first, when a step cannot take all', async () => {
      const { store, clock } = fixture();
      for (const name of ['first', 'second', 'third']) {
        await store.record(verified({ media_id: name }));
        await settleAll(store, HANDLED);
        await clock.advance(1000);
      }
      await store.prune(clock.now(), 2);
      const left = (await store.events({}, { limit: 10 })).filter(({ body }) => body !== undefined);
      expect(left.map(({ resource }) => resource)).toEqual(['media:third']);
    });
  });
}
