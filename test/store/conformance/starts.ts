import { describe, expect, test } from '@jest/globals';
import type { EventStore } from '../../../src/store/event-store.ts';
import { claimOne, HANDLED, LEASE_MS, RELEASED, waiting } from '../../support/claiming.ts';
import { present } from '../../support/only.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

/** The starts of an event, each as its number and how it ended. */
async function recordOf(store: EventStore, id: string): Promise<readonly (readonly [number, string])[]> {
  return (await store.attempts(id)).map(({ attempt, outcome }) => [attempt, outcome] as const);
}

export function describeStarts(fixture: CurrentFixture): void {
  describe('starts', () => {
    test('are shown while they run, with the process that runs them and the end of its lease, and no longer', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      expect(await store.running(id)).toBeUndefined();
      const claim = await claimOne(store, { owner: 'receiver-2/of-a-life' });
      const startedAt = clock.now();
      expect(await store.running(id)).toEqual({
        startedAt,
        leaseUntil: startedAt + LEASE_MS,
        instance: 'receiver-2',
      });
      await clock.advance(1000);
      await store.renew('receiver-2/of-a-life', LEASE_MS);
      expect(await store.running(id)).toMatchObject({ startedAt, leaseUntil: startedAt + 1000 + LEASE_MS });
      const { id: next } = await store.record(verified({ number: 2 })); // of the same media
      expect(await store.running(next)).toBeUndefined();
      await store.settle(claim, 'receiver-2/of-a-life', HANDLED);
      expect(await store.running(id)).toBeUndefined();
      expect(await store.running('loyw3uqg-0123456789abcdef0123')).toBeUndefined();
    });

    test('go on counting, when a stop gave the attempt back, and each has a record of its own', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      for (const start of [1, 2, 3]) {
        const claim = await claimOne(store);
        expect(claim).toMatchObject({ starts: start, attempts: 1 });
        await clock.advance(start * 100);
        expect(await store.settle(claim, 'one', RELEASED)).toBe(true);
        expect(await store.event(id)).toMatchObject({ status: 'pending', starts: start, attempts: 0 });
      }
      const last = await claimOne(store);
      await store.settle(last, 'one', HANDLED);
      expect(await store.event(id)).toMatchObject({ status: 'handled', starts: 4, attempts: 1 });
      expect(await store.attempts(id)).toMatchObject([
        { attempt: 1, outcome: 'interrupted', durationMs: 100 },
        { attempt: 2, outcome: 'interrupted', durationMs: 200 },
        { attempt: 3, outcome: 'interrupted', durationMs: 300 },
        { attempt: 4, outcome: 'handled' },
      ]);
    });

    test('count what failed, what was lost and what was released, when these take turns, and attempts all but the last', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting());
      await store.settle(await claimOne(store), 'one', RELEASED);
      await claimOne(store);
      await clock.advance(LEASE_MS);
      const last = await claimOne(store, { owner: 'two' });
      expect(last).toMatchObject({ starts: 4, attempts: 3 });
      await store.settle(last, 'two', RELEASED);
      expect(await store.event(id)).toMatchObject({ starts: 4, attempts: 2 });
      expect(await recordOf(store, id)).toEqual([
        [1, 'error'],
        [2, 'interrupted'],
        [3, 'lost'],
        [4, 'interrupted'],
      ]);
    });

    test('begin again at 1, when the event is replayed, and the records of its former life stay', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', RELEASED);
      await store.settle(await claimOne(store), 'one', HANDLED);
      await store.replay({});
      expect(await claimOne(store)).toMatchObject({ starts: 1, attempts: 1, replays: 1 });
      expect(await store.attempts(id)).toMatchObject([
        { replay: 0, attempt: 1 },
        { replay: 0, attempt: 2 },
      ]);
    });
  });

  describe('a release', () => {
    test('keeps the error of the attempt before, when there is one, and makes the event ready at once', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting());
      await store.settle(await claimOne(store), 'one', RELEASED);
      expect(await store.event(id)).toMatchObject({ lastError: 'not yet', nextAttemptAt: undefined });
      expect(await claimOne(store, { owner: 'two' })).toMatchObject({ id, attempts: 2 });
    });

    test('refuses the result of an earlier start, when the same owner holds the event again in the same attempt', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const first = await claimOne(store);
      await store.settle(first, 'one', RELEASED);
      await claimOne(store);
      expect(await store.settle(first, 'one', HANDLED)).toBe(false);
      expect(await store.event(id)).toMatchObject({ status: 'running', starts: 2, attempts: 1 });
    });

    test('lets the other events of an owner go on, when one of them is released', async () => {
      const { store } = fixture();
      await store.record(verified({ media_id: 'ended' }));
      const ended = await claimOne(store);
      const { id } = await store.record(verified({ media_id: 'runs' }));
      await claimOne(store);
      await store.settle(ended, 'one', RELEASED);
      expect(await store.renew('one', LEASE_MS)).toEqual([id]);
      expect(await store.event(id)).toMatchObject({ status: 'running' });
    });
  });

  describe('late, at every start of one event,', () => {
    test('stays false, when a newer one was handled after it first ran, be it that it failed, was released or lost', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified({ at: EVENT_TIME }));
      await store.settle(await claimOne(store), 'one', waiting(1000));
      await handleNewer(store);
      expect(present(await store.timeline(id, 1)).late).toBe(false);
      await clock.advance(1000);
      const failed = await claimOne(store);
      expect(failed).toMatchObject({ id, late: false });
      await store.settle(failed, 'one', RELEASED);
      expect(await claimOne(store)).toMatchObject({ id, late: false });
      await clock.advance(LEASE_MS);
      const last = await claimOne(store, { owner: 'two' });
      expect(last).toMatchObject({ id, starts: 4, late: false });
      await store.settle(last, 'two', HANDLED);
      expect(present(await store.timeline(id, 1)).late).toBe(false);
    });

    test('stays true, when the newer one was replayed meanwhile and is not handled any more', async () => {
      const { store, clock } = fixture();
      const newer = await handleNewer(store);
      const { id } = await store.record(verified({ at: EVENT_TIME }));
      const first = await claimOne(store);
      expect(first.late).toBe(true);
      await store.settle(first, 'one', waiting(1000));
      await store.replay({ ids: [newer] });
      await store.settle(await claimOne(store), 'one', waiting(9000));
      await clock.advance(1000);
      expect(await claimOne(store)).toMatchObject({ id, starts: 2, late: true });
      expect(present(await store.timeline(id, 1)).late).toBe(true);
    });

    test('is found again, when the event is replayed after a newer one was handled', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified({ at: EVENT_TIME }));
      const first = await claimOne(store);
      await store.settle(first, 'one', HANDLED);
      await handleNewer(store);
      await store.replay({ ids: [id] });
      expect([first.late, (await claimOne(store)).late]).toEqual([false, true]);
    });
  });
}

/** Records and handles a newer event of the same resource. @returns its id */
async function handleNewer(store: EventStore): Promise<string> {
  await store.record(verified({ at: EVENT_TIME + 1000 }));
  const claim = await claimOne(store, { owner: 'another' });
  await store.settle(claim, 'another', HANDLED);
  return claim.id;
}
