import { describe, expect, test } from '@jest/globals';
import type { Claim, ClaimRequest, Settlement } from '../../../src/store/event-store.ts';
import { LOOKED_AT } from '../../../src/store/semantics/lane-order.ts';
import { claimOne, claims, HANDLED, LEASE_MS, request, settleAll, waiting } from '../../support/claiming.ts';
import { only, present } from '../../support/only.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

export function describeClaiming(fixture: CurrentFixture): void {
  /** Records events of media that are named by a number, one after the other, with event times of so many hours. */
  const arriving = () => ({
    async record(hours: number, media = hours) {
      const { store, clock } = fixture();
      await store.record(verified({ media_id: `media=${media}`, at: EVENT_TIME + hours * 3_600_000 }));
      await clock.advance(1);
    },
  });
  const hoursOf = async (given: Partial<ClaimRequest>) =>
    (await claims(fixture().store, given)).map(({ resource }) => Number(resource.split('=')[1]));

  describe('claim', () => {
    test('gives nothing and no time, when nothing was recorded', async () => {
      expect(await fixture().store.claim(request())).toEqual({ claims: [], dueInMs: undefined });
    });

    test('takes in no more than acks can wait for, when very much was received, and says so', async () => {
      const { store } = fixture();
      await Promise.all(
        Array.from({ length: 2100 }, (_, number) => store.record(verified({ media_id: `${number}` }))),
      );
      const [first, second] = [
        await store.claim(request({ limit: 1 })),
        await store.claim(request({ limit: 1 })),
      ];
      expect([first.isBehind, second.isBehind]).toEqual([true, undefined]);
      expect(await claims(store, { limit: 3000 })).toHaveLength(2098);
    });

    test('leases an event, when it is ready, as running in its first attempt', async () => {
      const { store, clock } = fixture();
      const notification = verified();
      const { id } = await store.record(notification);
      const claimed = await store.claim(request());
      expect(only(claimed.claims)).toEqual({
        ...(await store.event(id)),
        body: notification.body,
        place: 1,
        startedAt: clock.now(),
        hasMore: false,
        late: false,
        state: [],
      });
      expect(await store.event(id)).toMatchObject({ status: 'running', attempts: 1 });
      expect(claimed.dueInMs).toBe(LEASE_MS);
    });

    test('takes what was received first, when the resources differ, whatever the event times are', async () => {
      const { record } = arriving();
      for (const hours of [3, 1, 4, 2, 0]) await record(hours);
      expect([...(await hoursOf({ limit: 2 })), ...(await hoursOf({ limit: 5 }))]).toEqual([3, 1, 4, 2, 0]);
    });

    test('takes what was received last, when it has the oldest or a future event time, as many as are asked for', async () => {
      const { record } = arriving();
      for (const hours of [0, 1, 9, 3, 4, -1]) await record(hours);
      expect(await hoursOf({ limit: 3, newest: 1 })).toEqual([0, 1, -1]);
      expect(await hoursOf({ limit: 1, newest: 1 })).toEqual([4]);
      expect(await hoursOf({ limit: 4, newest: 2 })).toEqual([9, 3]);
    });

    test('takes replays last, in the order of event times, but for as many as are asked for', async () => {
      const { record } = arriving();
      for (const hours of [3, 1, 2]) await record(hours);
      await settleAll(fixture().store, HANDLED);
      expect(await fixture().store.replay({})).toBe(3);
      for (const hours of [8, 7, 6, 5]) await record(hours);
      expect(await hoursOf({ limit: 3, newest: 1, replayed: 1 })).toEqual([8, 1, 5]);
      expect(await hoursOf({ limit: 1, newest: 1, replayed: 1 })).toEqual([2]);
      expect(await hoursOf({ limit: 3, newest: 2 })).toEqual([7, 6, 3]);
    });

    test('takes replays for the share of others, and others for the share of replays, when there are none', async () => {
      const { record } = arriving();
      for (const hours of [1, 2, 3]) await record(hours);
      expect(await hoursOf({ limit: 2, replayed: 2 })).toEqual([1, 2]);
      await settleAll(fixture().store, HANDLED);
      expect(await fixture().store.replay({ status: 'handled' })).toBe(1); // the others are running
      expect(await hoursOf({ limit: 2, newest: 1, replayed: 0 })).toEqual([3]);
    });

    describe('of a resource that has both replays and others', () => {
      /** Runs one event after the other. @returns the hours of their event times */
      const runAll = async (meanwhile = async () => {}) => {
        const ran: number[] = [];
        for (;;) {
          const [claim] = await claims(fixture().store, { limit: 1 });
          if (!claim) return ran;
          ran.push((claim.eventTime - EVENT_TIME) / 3_600_000);
          if (ran.length === 1) await meanwhile();
          await fixture().store.settle(claim, 'one', HANDLED);
        }
      };
      /** Has media 2 and 3 replayed. */
      const replayed = async () => {
        const { record } = arriving();
        for (const hours of [1, 2, 4, 9]) await record(hours, 2);
        await record(3);
        await settleAll(fixture().store, HANDLED);
        expect(await fixture().store.replay({})).toBe(5);
        return record;
      };

      test('takes its older replays where it would take the other, and those behind that as replays', async () => {
        const record = await replayed();
        for (const media of [5, 2, 7]) await record(media === 2 ? 6 : media, media);
        expect(await runAll()).toEqual([5, 1, 2, 4, 6, 7, 3, 9]);
      });

      test.each([
        ['behind them', 6, [1, 2, 4, 6, 3, 9]],
        ['before them', 0, [1, 0, 2, 3, 4, 9]],
      ])('does so, when the other comes %s while a replay runs', async (_, hours, order) => {
        const record = await replayed();
        const recordIt = async () => {
          await record(hours, 2);
          expect(await claims(fixture().store, { limit: 0 })).toEqual([]); // takes it into work
        };
        expect(await runAll(recordIt)).toEqual(order);
      });

      test('takes them as replays, once the other waits for its next attempt, and not any more when that is due', async () => {
        const record = await replayed();
        await record(0, 2);
        const { store, clock } = fixture();
        const hour = async (settlement: Settlement) => {
          const claim = only(await claims(store, { limit: 1 }));
          await store.settle(claim, 'one', settlement);
          return (claim.eventTime - EVENT_TIME) / 3_600_000;
        };
        expect([await hour(waiting(1000)), await hour(HANDLED)]).toEqual([0, 1]);
        await record(5);
        await clock.advance(1000);
        expect(await runAll()).toEqual([0, 5, 2, 3, 4, 9]);
      });

      test('does so, when it is one of the newest of very many', async () => {
        const { record } = arriving();
        const { store } = fixture();
        for (let hours = 1; hours <= LOOKED_AT + 50; hours++) await record(hours / 100, 2);
        await record(0, 3);
        await settleAll(store, HANDLED);
        await store.replay({});
        await record(10, 2);
        const ran = await runAll();
        expect(ran.indexOf(10)).toBe(LOOKED_AT + 50);
        expect(ran.at(-1)).toBe(0);
      });
    });

    test('tells of each event whether others of its resource are ready, which neither wait nor have ended', async () => {
      const { store } = fixture();
      for (const media_id of ['ended', 'waiting', 'both', 'alone'])
        for (const hours of media_id === 'alone' ? [2] : [1, 2])
          await store.record(verified({ media_id, at: EVENT_TIME + hours * 3_600_000 }));
      const told = (claimed: readonly Claim[]) =>
        Object.fromEntries(claimed.map(({ resource, hasMore }) => [resource.slice(6), hasMore]));
      const settle = async (media_id: string, settlement: Settlement, claimed: readonly Claim[]) => {
        const claim = present(claimed.find(({ resource }) => resource === `media:${media_id}`));
        await store.settle(claim, 'one', settlement);
      };
      const first = await claims(store);
      expect(told(first)).toEqual({ ended: true, waiting: true, both: true, alone: false });
      await settle('ended', HANDLED, first);
      await settle('waiting', waiting(1000), first);
      await settle('both', waiting(), first);
      expect(told(await claims(store))).toEqual({ ended: false, waiting: false, both: true });
      await store.record(verified({ media_id: 'alone', at: EVENT_TIME + 3 * 3_600_000 }));
      await settle('alone', waiting(), first);
      expect(told(await claims(store))).toEqual({ alone: true });
    });

    test('takes the oldest event of a resource first, when its resource is taken for its newest', async () => {
      const { store, clock } = fixture();
      await store.record(verified({ media_id: 'old', at: EVENT_TIME }));
      await clock.advance(1);
      for (const hours of [1, 2, 3]) {
        await store.record(verified({ media_id: 'busy', at: EVENT_TIME + hours * 3_600_000 }));
      }
      const claim = only(await claims(store, { limit: 1, newest: 1 }));
      expect(claim).toMatchObject({ resource: 'media:busy', eventTime: EVENT_TIME + 3_600_000 });
    });

    test('gives no more than the limit, when more is ready', async () => {
      const { store } = fixture();
      for (let number = 0; number < 5; number++) {
        await store.record(verified({ media_id: `media-${number}` }));
      }
      expect(await claims(store, { limit: 0 })).toHaveLength(0);
      expect(await claims(store, { limit: 3 })).toHaveLength(3);
      expect(await claims(store, { limit: 3 })).toHaveLength(2);
    });

    test('gives one event, when several of one resource are ready, and the next once it ended', async () => {
      const { store } = fixture();
      const times = [2, 0, 1].map((seconds) => EVENT_TIME + seconds * 1000);
      for (const at of times) await store.record(verified({ at }));
      const handled: number[] = [];
      for (const _ of times) {
        const claim = await claimOne(store);
        expect(await claims(store)).toEqual([]);
        await store.settle(claim, 'one', HANDLED);
        handled.push(claim.eventTime);
      }
      expect(handled).toEqual([...times].sort());
      expect(await claims(store)).toEqual([]);
    });

    test('gives an older event first, when it comes while a newer one of its resource waits its turn', async () => {
      const { store } = fixture();
      await store.record(verified({ at: EVENT_TIME + 5000 }));
      const running = await claimOne(store);
      await store.record(verified({ at: EVENT_TIME + 7000 }));
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await store.record(verified({ at: EVENT_TIME + 3000, media_id: 'other' }));
      await store.settle(running, 'one', HANDLED);
      const next = await claims(store);
      expect(next.map(({ eventTime }) => eventTime - EVENT_TIME)).toEqual([1000, 3000]);
    });

    test('treats media and channel as two resources, when their ids are the same, and gives both', async () => {
      const { store } = fixture();
      await store.record(verified({ media_id: 'same' }));
      await store.record(verified({ event: 'channel_active', media_id: undefined, channel_id: 'same' }));
      const resources = (await claims(store)).map(({ resource }) => resource);
      expect(resources.sort()).toEqual(['channel:same', 'media:same']);
    });

    test('gives each event to one of two instances, when both claim at the same moment', async () => {
      const { store, open } = fixture();
      const other = await open();
      for (let number = 0; number < 60; number++) {
        await store.record(verified({ media_id: `media-${number % 20}`, at: EVENT_TIME + number * 1000 }));
      }
      const rounds = await Promise.all(
        Array.from({ length: 12 }, (_, round) =>
          claims(round % 2 === 0 ? store : other, { owner: `owner-${round}`, limit: 3 }),
        ),
      );
      const given = rounds.flat();
      expect(new Set(given.map(({ resource }) => resource)).size).toBe(20);
      expect(given).toHaveLength(20);
      const oldest = given.map(({ eventTime }) => (eventTime - EVENT_TIME) / 1000).sort((a, b) => a - b);
      expect(oldest).toEqual(Array.from({ length: 20 }, (_, number) => number));
    });
  });

  describe('an event that waits for its next attempt', () => {
    test('is not given before its time, and is given from then on, in its next attempt', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting(10_000));
      expect(await store.claim(request())).toEqual({ claims: [], dueInMs: 10_000 });
      await clock.advance(9999);
      expect(await claims(store)).toEqual([]);
      await clock.advance(1);
      expect(await claimOne(store)).toMatchObject({ attempts: 2, nextAttemptAt: undefined });
    });

    test('does not hold up the others of its resource, when they are newer, and takes its place when due', async () => {
      const { store, clock } = fixture();
      await store.record(verified({ at: EVENT_TIME }));
      await store.record(verified({ at: EVENT_TIME + 1000 }));
      await store.record(verified({ at: EVENT_TIME + 2000 }));
      await store.settle(await claimOne(store), 'one', waiting(10_000));
      const second = await claimOne(store);
      expect(second.eventTime).toBe(EVENT_TIME + 1000);
      await clock.advance(10_000);
      expect(await claims(store)).toEqual([]); // due, but its resource is busy
      await store.settle(second, 'one', HANDLED);
      expect((await claimOne(store)).eventTime).toBe(EVENT_TIME);
    });

    test('tells the earliest of all due times, when several events wait and one is leased', async () => {
      const { store, clock } = fixture();
      for (const [number, after] of [20_000, 5000, 12_000].entries()) {
        await store.record(verified({ media_id: `media-${number}` }));
        await store.settle(await claimOne(store), 'one', waiting(after));
      }
      await store.record(verified({ media_id: 'leased' }));
      expect(await store.claim(request({ leaseMs: 8000 }))).toMatchObject({ dueInMs: 5000 });
      await clock.advance(5000);
      expect(await store.claim(request({ leaseMs: 60_000 }))).toMatchObject({ dueInMs: 3000 });
    });

    test('is given at once, when no time was set for its next attempt', async () => {
      const { store } = fixture();
      await store.record(verified());
      await store.settle(await claimOne(store), 'one', waiting());
      expect(await claimOne(store)).toMatchObject({ attempts: 2, lastError: 'not yet' });
    });

    test('is given, when more than a thousand fall due at once, sooner or later with all others', async () => {
      const { store, clock } = fixture();
      const numbers = Array.from({ length: 1100 }, (_, number) => number);
      await Promise.all(numbers.map((number) => store.record(verified({ media_id: `media-${number}` }))));
      const first = await claims(store, { limit: 2000 });
      await Promise.all(first.map((claim) => store.settle(claim, 'one', waiting(1000))));
      await clock.advance(1000);
      const again = [...(await claims(store, { limit: 2000 })), ...(await claims(store, { limit: 2000 }))];
      expect(new Set(again.map(({ id }) => id)).size).toBe(1100);
    });
  });
}
