import { describe, expect, test } from '@jest/globals';
import type { Claim } from '../../../src/store/event-store.ts';
import { claimOne, claims, doSteps, HANDLED, LEASE_MS, RELEASED, waiting } from '../../support/claiming.ts';
import { present } from '../../support/only.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { verified } from '../../support/verified-notification.ts';

const announced = (result: string | null) => ({ name: 'announce', result });

export function describeSteps(fixture: CurrentFixture): void {
  describe('steps', () => {
    test('are unknown, when they were not done', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      expect(await store.step(id, 'announce')).toBeUndefined();
    });

    test.each(['{"text":"\u{1f3ac} \' \\""}', 'null', '""', null])(
      'give back their result, when it was %j, in every instance',
      async (result) => {
        const { store, open } = fixture();
        const { id } = await store.record(verified());
        const claim = await claimOne(store);
        expect(await store.saveStep(claim, 'one', announced(result))).toEqual({ result });
        expect(await store.step(id, 'announce')).toEqual({ result });
        expect(await (await open()).step(id, 'announce')).toEqual({ result });
      },
    );

    test('keep one result and give it back, when two are saved under the same name at the same time', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const claim = await claimOne(store);
      const saved = await Promise.all(['1', '2'].map((one) => store.saveStep(claim, 'one', announced(one))));
      const kept = await store.step(id, 'announce');
      expect(['1', '2']).toContain(kept?.result);
      expect(saved).toEqual([kept, kept]);
    });

    test('are told apart, when the name or the event differs', async () => {
      const { store } = fixture();
      const first = await store.record(verified());
      const second = await store.record(verified({ media_id: 'other' }));
      await doSteps(store, first.id, { announce: '1' });
      expect(await store.step(first.id, 'Announce')).toBeUndefined();
      expect(await store.step(second.id, 'announce')).toBeUndefined();
    });
  });

  describe('a claim that has lost its lease', () => {
    type Loss = (current: ReturnType<CurrentFixture>, claim: Claim) => Promise<unknown>;
    const lose: Readonly<Record<string, Loss>> = {
      'was settled': ({ store }, claim) => store.settle(claim, 'one', HANDLED),
      'was released': ({ store }, claim) => store.settle(claim, 'one', RELEASED),
      'was taken over': async ({ store, clock }) => {
        await clock.advance(LEASE_MS);
        return claimOne(store, { owner: 'two' });
      },
      'was taken over and came back to its owner': async ({ store, clock }) => {
        for (const owner of ['two', 'one']) {
          await clock.advance(LEASE_MS);
          await claimOne(store, { owner });
        }
      },
      'was settled, and its owner has the event again at the same moment': async ({ store }, claim) => {
        await store.settle(claim, 'one', waiting());
        return claimOne(store);
      },
      'was handled, and its owner has the event again in a replay': async ({ store }, claim) => {
        await store.settle(claim, 'one', HANDLED);
        await store.replay({});
        return claimOne(store);
      },
    };

    test.each(Object.entries(lose))(
      'stores no step, when it %s, and does not hold its event',
      async (_, loss) => {
        const { store } = fixture();
        const { id } = await store.record(verified());
        const claim = await claimOne(store);
        expect(await store.holds(claim, 'one')).toBe(true);
        await loss(fixture(), claim);
        expect(await store.holds(claim, 'one')).toBe(false);
        expect(await store.saveStep(claim, 'one', announced('1'))).toBeUndefined();
        expect(await store.step(id, 'announce')).toBeUndefined();
      },
    );

    test('gets the result of another run, when that one was stored, and changes nothing', async () => {
      const { store, clock } = fixture();
      const { id } = await store.record(verified());
      const lost = await claimOne(store);
      await clock.advance(LEASE_MS);
      const current = await claimOne(store, { owner: 'two' });
      expect(await store.holds(current, 'two')).toBe(true);
      expect(await store.holds(current, 'one')).toBe(false);
      await store.saveStep(current, 'two', announced('"two"'));
      expect(await store.saveStep(lost, 'one', announced('"one"'))).toEqual({ result: '"two"' });
      expect(await store.step(id, 'announce')).toEqual({ result: '"two"' });
    });

    test('holds its event to the end, when its lease has run out and nobody took the event over', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      const claim = await claimOne(store);
      await clock.advance(10 * LEASE_MS);
      expect(await store.holds(claim, 'one')).toBe(true);
      expect(await store.saveStep(claim, 'one', announced('1'))).toEqual({ result: '1' });
      expect(await claims(store, { owner: 'two' })).toHaveLength(1);
      expect(present(await store.step(claim.id, 'announce'))).toEqual({ result: '1' });
    });
  });
}
