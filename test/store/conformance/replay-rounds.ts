import { describe, expect, test } from '@jest/globals';
import type { EventStore } from '../../../src/store/event-store.ts';
import { claims, HANDLED, settleAll } from '../../support/claiming.ts';
import { size } from '../../support/sizes.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const RESOURCES = 100;
/** More than two commits of a replay; or more than one, with an event of each resource left for the second. */
const MANY = size({ small: 603, full: 1003 });
/** By then, the events that a replay reset and never made ready are due. */
const HOLD_MS = 20 * 60_000;

/** What a replay promises where it takes several commits: others claim, record, replay and crash in between. */
export function describeReplayRounds(fixture: CurrentFixture): void {
  describe('a replay in several commits', () => {
    /** Records many events of some resources in no order, and handles all. */
    const fill = () =>
      fixture().filled('many', async () => {
        const { store } = fixture();
        const numbers = Array.from({ length: MANY }, (_, number) => (number * 7) % MANY);
        await Promise.all(numbers.map((number) => store.record(numbered(number))));
        await settleAll(store, HANDLED);
      });

    const numbered = (number: number) =>
      verified({ media_id: `media-${number % RESOURCES}`, at: EVENT_TIME + number * 1000 });

    const handledTimes = async (store: EventStore): Promise<{ ids: string[]; late: number }> => {
      const ready = await claims(store, { owner: 'meanwhile', limit: 2000 });
      await Promise.all(ready.map((claim) => store.settle(claim, 'meanwhile', HANDLED)));
      return { ids: ready.map(({ id }) => id), late: ready.filter(({ late }) => late).length };
    };

    const all = async () => fixture().store.events({}, { limit: 2 * MANY });

    /** Begins a replay whose process is gone after one commit. */
    async function replayAndVanish(): Promise<void> {
      const store = await fixture().open();
      await new Promise<void>((resolve) => {
        const onStep = () => new Promise<never>(() => resolve());
        void store.replay({}, { onStep });
      });
    }

    test('tells when all are held, when none of them is ready yet, so that events that were ready before are told apart', async () => {
      await fill();
      const { store } = fixture();
      const { id } = await store.record(verified({ media_id: 'waiting', at: EVENT_TIME }));
      let ready: string[] | undefined;
      const onHeld = async () => {
        const pending = await store.events({ status: 'pending' }, { limit: 2 * MANY });
        expect(pending).toHaveLength(MANY + 1);
        ready = pending.filter(({ nextAttemptAt }) => nextAttemptAt === undefined).map((event) => event.id);
      };
      expect(await store.replay({}, { onHeld })).toBe(MANY);
      expect(ready).toEqual([id]);
    });

    test('goes on after an event, when another one was cut short there, and takes the rest once', async () => {
      await fill();
      const { store } = fixture();
      const abort = new AbortController();
      const first: string[] = [];
      const onStep = (ids: readonly string[]) => {
        first.push(...ids);
        abort.abort();
      };
      expect(await store.replay({}, { onStep, signal: abort.signal })).toBe(first.length);
      await settleAll(store, HANDLED);
      expect(await store.replay({}, { after: first.at(-1) })).toBe(MANY - first.length);
      expect((await all()).every(({ replays }) => replays === 1)).toBe(true);
    });

    test('hands no event out before all are reset, when a claim comes in between, and tells none late', async () => {
      await fill();
      const other = await fixture().open();
      const handled: string[] = [];
      let late = 0;
      const handleReady = async () => {
        const one = await handledTimes(other);
        handled.push(...one.ids);
        late += one.late;
      };
      const onStep = async () => expect(await claims(other)).toEqual([]);
      expect(await fixture().store.replay({}, { onStep, onReady: handleReady })).toBe(MANY);
      while ((await other.count({ status: 'pending' })) > 0) await handleReady();
      expect(late).toBe(0);
      expect(handled).toHaveLength(MANY);
      expect(new Set(handled).size).toBe(MANY);
      expect((await all()).every(({ replays, lastError }) => replays === 1 && lastError === undefined)).toBe(
        true,
      );
    });

    test('tells how many are ready, when it makes them so, after each commit', async () => {
      await fill();
      const told: number[] = [];
      await fixture().store.replay({}, { onReady: (events) => void told.push(events) });
      expect(told).toEqual(told.toSorted((one, other) => one - other));
      expect(told.at(-1)).toBe(MANY);
    });

    test('leaves out what is recorded meanwhile, and takes what ends ahead of it', async () => {
      await fill();
      const { store } = fixture();
      const older = await store.record(verified({ media_id: 'older', at: EVENT_TIME - 1000 }));
      const newer = await store.record(verified({ media_id: 'newer', at: EVENT_TIME + MANY * 1000 }));
      const running = await claims(store);
      const fresh: string[] = [];
      const onStep = async () => {
        if (fresh.length > 0) return;
        for (const claim of running) await store.settle(claim, 'one', HANDLED);
        fresh.push((await store.record(verified({ media_id: 'fresh', at: EVENT_TIME + 1e9 }))).id);
        await settleAll(store, HANDLED);
      };
      expect(await store.replay({}, { onStep })).toBe(MANY + 1);
      expect(await store.event(older.id)).toMatchObject({ status: 'handled', replays: 0 });
      expect(await store.event(newer.id)).toMatchObject({ status: 'pending', replays: 1 });
      expect(await store.event(fresh[0] ?? '')).toMatchObject({ status: 'handled', replays: 0 });
    });

    test('makes the reset events ready, when the listener throws', async () => {
      await fill();
      const { store } = fixture();
      const onStep = () => {
        throw new Error('the report is full');
      };
      await expect(store.replay({}, { onStep })).rejects.toThrow('the report is full');
      const back = (await all()).filter(({ status }) => status === 'pending');
      expect(back.length).toBeGreaterThan(0);
      expect(back.every(({ nextAttemptAt }) => nextAttemptAt === undefined)).toBe(true);
    });

    test('has the reset events run by themselves in order, when its process is gone, 15 minutes later', async () => {
      await fill();
      const { store, clock } = fixture();
      await replayAndVanish();
      expect(await claims(store)).toEqual([]);
      const held = (await all()).filter(({ status }) => status === 'pending');
      expect(held.every(({ lastError }) => lastError?.startsWith('waits until replay '))).toBe(true);
      await clock.advance(HOLD_MS);
      const { ids, late } = await handledTimes(store);
      expect(ids).toHaveLength(RESOURCES);
      // The events that were not reset are newer and count as handled.
      expect(late).toBe(RESOURCES);
      expect(await settleAll(store, HANDLED)).toBe(held.length - RESOURCES);
      expect(await store.replay({ status: 'pending' })).toBe(0);
    });

    test('takes over what another one holds, when that is gone, and replays each once', async () => {
      await fill();
      const { store } = fixture();
      await replayAndVanish();
      expect(await store.replay({})).toBe(MANY);
      expect((await all()).every(({ replays, nextAttemptAt }) => replays === 1 && !nextAttemptAt)).toBe(true);
      const { ids, late } = await handledTimes(store);
      expect({ claimed: ids.length, late }).toEqual({ claimed: RESOURCES, late: 0 });
    });

    test('leaves what another one holds, when its filter does not mean what is pending, and pending brings it forward', async () => {
      await fill();
      const { store } = fixture();
      await replayAndVanish();
      const held = await store.count({ status: 'pending' });
      expect(await store.replay({ status: 'handled' })).toBe(MANY - held);
      expect(await store.replay({ status: 'pending' })).toBe(held);
      expect((await all()).every(({ replays, nextAttemptAt }) => replays === 1 && !nextAttemptAt)).toBe(true);
    });

    test('loses and doubles nothing, when another one goes on at the same time', async () => {
      await fill();
      const other = await fixture().open();
      const counts = await Promise.all([fixture().store.replay({}), other.replay({})]);
      expect(counts.every((count) => count <= MANY)).toBe(true);
      expect(Math.max(...counts)).toBeGreaterThan(0);
      const back = await all();
      expect(back.every(({ status, nextAttemptAt }) => status === 'pending' && !nextAttemptAt)).toBe(true);
      expect(back.every(({ replays }) => replays === 1)).toBe(true);
    });

    test.each([
      ['a kind', { kind: 'media_available' }],
      ['times', { since: EVENT_TIME, until: EVENT_TIME + MANY * 1000 }],
      ['a part of the body', { q: 'media-' }],
    ] as const)('finds all, when the filter is %s', async (_, filter) => {
      await fill();
      const matching = await fixture().store.count(filter);
      expect(await fixture().store.replay(filter)).toBe(matching);
      expect(matching).toBe(MANY);
    });

    test('finds all of a resource, when they are more than one commit may hold', async () => {
      const { store } = fixture();
      const numbers = Array.from({ length: 503 }, (_, number) => number);
      await Promise.all(numbers.map((number) => store.record(verified({ at: EVENT_TIME + number * 1000 }))));
      await settleAll(store, HANDLED);
      expect(await store.replay({ resource: 'media:media-1' })).toBe(503);
    });

    test('finds all of a list of ids, when they are more than one commit may hold', async () => {
      await fill();
      const { store } = fixture();
      const ids = (await all()).map(({ id }) => id);
      expect(await store.replay({ ids })).toBe(MANY);
      expect(await store.replay({ ids })).toBe(0);
    });
  });
}
