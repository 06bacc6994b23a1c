import { describe, expect, test } from '@jest/globals';
import {
  claimOne,
  claims,
  DEAD,
  doSteps,
  HANDLED,
  LEASE_MS,
  request,
  SKIPPED,
  settleAll,
  waiting,
} from '../../support/claiming.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

/** More than two commits of a replay. */
const MANY = 1003;

export function describeReplay(fixture: CurrentFixture): void {
  describe('replay', () => {
    /** Records many events, each of a resource of its own, and handles all. */
    const fillWithMany = () =>
      fixture().filled('many resources', async () => {
        const { store } = fixture();
        const numbers = Array.from({ length: MANY }, (_, number) => number);
        await Promise.all(numbers.map((number) => store.record(verified({ media_id: `media-${number}` }))));
        const all = await claims(store, { limit: 2000 });
        await Promise.all(all.map((claim) => store.settle(claim, 'one', HANDLED)));
      });

    test.each([
      ['handled', HANDLED],
      ['skipped', SKIPPED],
      ['dead', DEAD],
    ])('puts an event back to pending, when it is %s, with all its attempts before it', async (_, end) => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting());
      await store.settle(await claimOne(store), 'one', end);
      expect(await store.replay({})).toBe(1);
      expect(await store.event(id)).toMatchObject({
        status: 'pending',
        attempts: 0,
        replays: 1,
        handledAt: undefined,
        lastError: undefined,
        nextAttemptAt: undefined,
        deliveries: 1,
      });
      expect(await claimOne(store)).toMatchObject({ id, attempts: 1, replays: 1 });
    });

    test('keeps the attempts of each life apart, when an event was replayed, in order', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting());
      await store.settle(await claimOne(store), 'one', DEAD);
      await store.replay({});
      await store.settle(await claimOne(store), 'one', HANDLED);
      const lives = (await store.attempts(id)).map(({ replay, attempt, outcome }) => [
        replay,
        attempt,
        outcome,
      ]);
      expect(lives).toEqual([
        [0, 1, 'error'],
        [0, 2, 'failed'],
        [1, 1, 'handled'],
      ]);
    });

    test('makes an event ready at once, when it waited for its next attempt, with its attempts reset', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting(60_000));
      expect(await store.replay({ ids: [id] })).toBe(1);
      expect(await claimOne(store)).toMatchObject({ attempts: 1, replays: 1 });
      expect(await store.claim(request())).toMatchObject({ dueInMs: LEASE_MS });
    });

    test('leaves events alone, when they are ready or running, and counts none', async () => {
      const { store } = fixture();
      const running = await store.record(verified());
      await claimOne(store);
      const ready = await store.record(verified({ media_id: 'ready' }));
      expect(await store.replay({})).toBe(0);
      expect(await store.event(running.id)).toMatchObject({ status: 'running', attempts: 1, replays: 0 });
      expect(await store.event(ready.id)).toMatchObject({ status: 'pending', replays: 0 });
      expect(await store.renew('one', LEASE_MS)).toEqual([running.id]);
    });

    test('takes only what the filter says, when one is given', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified({ site_id: 'site-2' }));
      await store.record(verified({ site_id: 'site-1' }));
      await store.record(verified({ site_id: 'site-2', event: 'media_deleted' }));
      await settleAll(store, HANDLED);
      expect(await store.replay({ site: 'site-2', kind: 'media_available', status: 'handled' })).toBe(1);
      expect((await claims(store)).map((claim) => claim.id)).toEqual([id]);
    });

    test('takes nothing, when no event has one of the ids', async () => {
      const { store } = fixture();
      await store.record(verified());
      await settleAll(store, HANDLED);
      expect(await store.replay({ ids: ['nonsense', `0-${'0'.repeat(20)}`] })).toBe(0);
      expect(await store.replay({ ids: [] })).toBe(0);
    });

    test('keeps the steps, when nothing else is said, and forgets them with resetSteps', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      await doSteps(store, id, { announce: '1' });
      await settleAll(store, HANDLED);
      await store.replay({});
      expect(await store.step(id, 'announce')).toEqual({ result: '1' });
      await settleAll(store, HANDLED);
      await store.replay({}, { resetSteps: true });
      expect(await store.step(id, 'announce')).toBeUndefined();
    });

    test('forgets no steps, when their event is not replayed itself', async () => {
      const { store } = fixture();
      const replayed = await store.record(verified());
      const other = await store.record(verified({ media_id: 'other' }));
      await doSteps(store, other.id, { announce: '1' });
      await settleAll(store, HANDLED);
      await store.replay({ ids: [replayed.id] }, { resetSteps: true });
      expect(await store.step(other.id, 'announce')).toEqual({ result: '1' });
    });

    test('hands events out again, when whole resources were replayed, oldest first and one at a time', async () => {
      const { store } = fixture();
      for (const seconds of [2, 0, 1]) await store.record(verified({ at: EVENT_TIME + seconds * 1000 }));
      await settleAll(store, HANDLED);
      await store.replay({});
      const order: unknown[] = [];
      for (let left = 3; left > 0; left--) {
        const claim = await claimOne(store);
        order.push([(claim.eventTime - EVENT_TIME) / 1000, claim.late]);
        await store.settle(claim, 'one', HANDLED);
      }
      expect(order).toEqual([
        [0, false],
        [1, false],
        [2, false],
      ]);
    });

    test('tells an event late, when it is replayed alone after a newer one was handled', async () => {
      const { store } = fixture();
      const older = await store.record(verified({ at: EVENT_TIME }));
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await settleAll(store, HANDLED);
      await store.replay({ ids: [older.id] });
      expect(await claimOne(store)).toMatchObject({ id: older.id, late: true, replays: 1 });
    });

    test('waits its turn, when another event of the resource is running', async () => {
      const { store } = fixture();
      const done = await store.record(verified({ at: EVENT_TIME }));
      await settleAll(store, HANDLED);
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      const running = await claimOne(store);
      await store.replay({ ids: [done.id] });
      expect(await claims(store)).toEqual([]);
      await store.settle(running, 'one', HANDLED);
      expect((await claimOne(store)).id).toBe(done.id);
    });

    test('tells which events each commit reset, when it is asked to, and waits for the listener', async () => {
      const { store } = fixture();
      const ids: string[] = [];
      for (let number = 0; number < 5; number++) {
        ids.push((await store.record(verified({ media_id: `media-${number}` }))).id);
      }
      await settleAll(store, HANDLED);
      const told: string[] = [];
      const onStep = async (step: readonly string[]) => {
        await store.ping();
        told.push(...step);
      };
      expect(await store.replay({}, { onStep })).toBe(5);
      expect(told.sort()).toEqual(ids.sort());
    });

    test('resets nothing, when it was aborted before, and one commit, ready to run, when it is aborted in it', async () => {
      const { store } = fixture();
      await fillWithMany();
      expect(await store.replay({}, { signal: AbortSignal.abort() })).toBe(0);
      const abort = new AbortController();
      const replayed = await store.replay({}, { signal: abort.signal, onStep: () => abort.abort() });
      expect(replayed).toBeGreaterThan(0);
      expect(replayed).toBeLessThan(MANY);
      expect(await store.count({ status: 'pending' })).toBe(replayed);
      expect(await claims(store, { limit: 2000 })).toHaveLength(replayed);
    });

    test('takes all of many, when they are more than one commit may hold, each once', async () => {
      const { store } = fixture();
      await fillWithMany();
      expect(await store.replay({ status: 'handled' })).toBe(MANY);
      expect(await store.count({ status: 'pending' })).toBe(MANY);
      expect((await store.events({}, { limit: 2000 })).every(({ replays }) => replays === 1)).toBe(true);
    });
  });
}
