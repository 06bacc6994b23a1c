import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { StatePlace, StatesQuery } from '../../../src/store/event-search.ts';
import type { Claim, StateChange, StateValue } from '../../../src/store/event-store.ts';
import { anyCharacter } from '../../support/any-character.ts';
import {
  claimOne,
  claims,
  DEAD,
  HANDLED,
  LEASE_MS,
  SKIPPED,
  settleAll,
  waiting,
} from '../../support/claiming.ts';
import { runs, size } from '../../support/sizes.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const RESOURCE = 'media:media-1';
const posted = (value: string | null): StateChange => ({ name: 'posted', value });

export function describeState(fixture: CurrentFixture): void {
  describe('the state of a resource', () => {
    test.each([
      ['handled', HANDLED],
      ['skipped', SKIPPED],
      ['dead', DEAD],
    ])(
      'is stored with the settlement, when the event ends as %s, and the next claim has it',
      async (_, end) => {
        const { store, open } = fixture();
        await store.record(verified());
        const claim = await claimOne(store);
        expect(claim.state).toEqual([]);
        await store.settle(claim, 'one', { ...end, state: [{ name: 'b', value: '{"n":[1]}' }, posted('1')] });
        const expected = [
          { name: 'b', value: '{"n":[1]}' },
          { name: 'posted', value: '1' },
        ];
        expect(await store.state(RESOURCE)).toEqual(expected);
        const other = await open();
        expect(await other.state(RESOURCE)).toEqual(expected);
        await other.record(verified({ at: EVENT_TIME + 1000 }));
        expect((await claimOne(other)).state).toEqual(expected);
      },
    );

    test('changes name by name, when a later event sets, replaces and deletes', async () => {
      const { store } = fixture();
      const rounds: readonly (readonly StateChange[])[] = [
        [posted('1'), { name: 'Posted', value: '2' }, { name: 'gone', value: 'null' }],
        [posted('"new"'), { name: 'gone', value: null }, { name: 'never there', value: null }],
      ];
      for (const [second, state] of rounds.entries()) {
        await store.record(verified({ at: EVENT_TIME + second * 1000 }));
        await store.settle(await claimOne(store), 'one', { ...HANDLED, state });
      }
      expect(await store.state(RESOURCE)).toEqual([{ name: 'Posted', value: '2' }, posted('"new"')]);
    });

    test('is in the order of names by their bytes in UTF-8, when it is read and when it is claimed', async () => {
      const { store } = fixture();
      const sorted = ['A', 'a', '\uffff', '\u{1f3ac}'].map((name) => ({ name, value: '1' }));
      await store.record(verified());
      await store.settle(await claimOne(store), 'one', { ...HANDLED, state: sorted.toReversed() });
      expect(await store.state(RESOURCE)).toEqual(sorted);
      await store.replay({});
      expect((await claimOne(store)).state).toEqual(sorted);
    });

    test('is of one resource, when others have names alike', async () => {
      const { store } = fixture();
      for (const media_id of ['media-1', 'media-2', 'media-10']) {
        await store.record(verified({ media_id }));
        await store.settle(await claimOne(store), 'one', { ...HANDLED, state: [posted(`"${media_id}"`)] });
      }
      expect(await store.state('media:media-2')).toEqual([posted('"media-2"')]);
      expect(await store.state('media:media')).toEqual([]);
      expect(await store.state('channel:media-1')).toEqual([]);
    });

    const lost: Readonly<Record<string, (claim: Claim) => Promise<unknown>>> = {
      'was taken over': async () => {
        await fixture().clock.advance(LEASE_MS);
        return claimOne(fixture().store, { owner: 'two' });
      },
      'was settled before': (claim) => fixture().store.settle(claim, 'one', waiting()),
      'runs again in a later attempt of its owner': async (claim) => {
        await fixture().store.settle(claim, 'one', waiting());
        return claimOne(fixture().store);
      },
    };

    test.each(Object.entries(lost))(
      'stays as it was, when the event of the settlement %s',
      async (_, lose) => {
        const { store } = fixture();
        await store.record(verified());
        const claim = await claimOne(store);
        await lose(claim);
        expect(await store.settle(claim, 'one', { ...HANDLED, state: [posted('1')] })).toBe(false);
        expect(await store.state(RESOURCE)).toEqual([]);
      },
    );

    test('is as the last event left it, when an event is replayed', async () => {
      const { store } = fixture();
      for (const second of [0, 1]) {
        await store.record(verified({ at: EVENT_TIME + second * 1000 }));
        await store.settle(await claimOne(store), 'one', { ...HANDLED, state: [posted(String(second))] });
      }
      await store.replay({}, { resetSteps: true });
      expect(await store.state(RESOURCE)).toEqual([posted('1')]);
      expect((await claimOne(store)).state).toEqual([posted('1')]);
    });

    test('stays, when retention prunes the event that set it', async () => {
      const { store, clock } = fixture();
      await store.record(verified());
      await store.settle(await claimOne(store), 'one', { ...HANDLED, state: [posted('1')] });
      expect(await store.prune(clock.now() + 1, 10)).toBe(1);
      expect(await store.state(RESOURCE)).toEqual([posted('1')]);
    });

    test('is listed by one name or all of them over all channels or all media, in stretches, in the order of resources', async () => {
      const { store } = fixture();
      const many = Array.from({ length: size({ small: 70, full: 700 }) }, (_, number) => `many-${number}`);
      const set = async (members: Record<string, string>, names: readonly string[]) => {
        await store.record(verified(members));
        const state = names.map((name) => ({
          name,
          value: JSON.stringify(`${name} of ${Object.values(members)[1]}`),
        }));
        await store.settle(await claimOne(store), 'one', { ...HANDLED, state });
      };
      for (const channel_id of [...many, 'é', 'Z', '~'])
        await set({ event: 'channel_active', channel_id }, ['a', 'board', 'b', 'x']);
      await set({ event: 'channel_active', channel_id: 'without' }, ['Board', 'board ']);
      await set({ event: 'media_available', media_id: 'Z' }, ['board']);
      const listed = async (of: StatesQuery['of'], name?: string) => {
        const all: (StatePlace & StateValue)[] = [];
        let after: StatePlace | undefined;
        do {
          const { values, next } = await store.states({ of, name, after });
          all.push(...values);
          after = next;
        } while (after);
        return all;
      };
      const bytewise = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
      expect(await listed('channel', 'board')).toEqual(
        [...many, 'é', 'Z', '~']
          .toSorted(bytewise)
          .map((id) => ({ resource: `channel:${id}`, name: 'board', value: `"board of ${id}"` })),
      );
      expect(await listed('media', 'board')).toEqual([
        { resource: 'media:Z', name: 'board', value: '"board of Z"' },
      ]);
      expect(await listed('media', 'a')).toEqual([]);
      expect((await listed('channel')).map(({ resource, name }) => [resource, name])).toEqual(
        [...many, 'é', 'Z', '~', 'without']
          .toSorted(bytewise)
          .flatMap((id) =>
            (id === 'without' ? ['Board', 'board '] : ['a', 'b', 'board', 'x']).map((name) => [
              `channel:${id}`,
              name,
            ]),
          ),
      );
      expect(await listed('event')).toEqual([]);
    });

    /** Two media have two names each. */
    const withTwo = async () => {
      const { store } = fixture();
      for (const media_id of ['media-1', 'media-2']) {
        await store.record(verified({ media_id }));
        const state = [posted('1'), { name: 'other', value: '2' }];
        await store.settle(await claimOne(store), 'one', { ...HANDLED, state });
      }
      return store;
    };

    test('is what it is replaced with, when a resource had another one or none, and that of others stays', async () => {
      const store = await withTwo();
      await store.replaceState(RESOURCE, [
        { name: 'new', value: '[]' },
        { name: 'other', value: '3' },
      ]);
      await store.replaceState('channel:none', [{ name: 'new', value: 'null' }]);
      await store.replaceState('channel:nothing', []);
      expect(await store.state(RESOURCE)).toEqual([
        { name: 'new', value: '[]' },
        { name: 'other', value: '3' },
      ]);
      expect(await store.state('media:media-2')).toHaveLength(2);
      expect(await store.state('channel:none')).toEqual([{ name: 'new', value: 'null' }]);
      expect(await store.state('channel:nothing')).toEqual([]);
    });

    test('is deleted, when asked for, of one resource and with the number of its names', async () => {
      const store = await withTwo();
      expect(await store.deleteState(RESOURCE)).toBe(2);
      expect(await store.deleteState(RESOURCE)).toBe(0);
      expect(await store.state(RESOURCE)).toEqual([]);
      expect(await store.state('media:media-2')).toHaveLength(2);
    });

    test('is there with any name and any JSON, when it is read, as it was set', async () => {
      const { store } = fixture();
      const name = fc
        .string({ minLength: 1, maxLength: 100, unit: anyCharacter })
        .filter((one) => !one.includes('\0'));
      let second = 0;
      const property = fc.asyncProperty(fc.dictionary(name, fc.jsonValue()), async (values) => {
        await store.deleteState(RESOURCE);
        await store.record(verified({ at: EVENT_TIME + second++ * 1000 }));
        const state = Object.entries(values).map(([one, value]) => ({
          name: one,
          value: JSON.stringify(value),
        }));
        await store.settle(await claimOne(store), 'one', { ...HANDLED, state });
        const byName = (left: { name: string }, right: { name: string }) => (left.name < right.name ? -1 : 1);
        const stored = await store.state(RESOURCE);
        expect([...stored].sort(byName)).toEqual(state.sort(byName));
      });
      await fc.assert(property, { numRuns: runs(30) });
    });

    test('is one commit with the end of its event, when many resources end side by side', async () => {
      const { store, open } = fixture();
      for (let number = 0; number < 50; number++)
        await store.record(verified({ media_id: `media-${number}` }));
      const all = await claims(store);
      const reader = await open();
      const settling = all.map((claim) => store.settle(claim, 'one', { ...HANDLED, state: [posted('1')] }));
      for (const [index, claim] of all.entries()) {
        await settling[index];
        expect([await reader.event(claim.id), await reader.state(claim.resource)]).toMatchObject([
          { status: 'handled' },
          [posted('1')],
        ]);
      }
      expect(await settleAll(store, HANDLED)).toBe(0);
    });
  });
}
