import { describe, expect, test } from '@jest/globals';
import type { EventFilter } from '../../../src/store/event-store.ts';
import { DEAD, HANDLED, SKIPPED, settleAll, waiting } from '../../support/claiming.ts';
import { fill } from '../../support/filled-store.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const FAR = 10_000;

/** Searches that say how far they came. */
export function describeSearch(fixture: CurrentFixture): void {
  describe('search', () => {
    const record = (members: Parameters<typeof verified>[0]) => fixture().store.record(verified(members));
    const found = async (filter: EventFilter, given = {}) =>
      fixture().store.search(filter, { limit: 100, reach: FAR, ...given });

    test('finds what events() finds, when filters restrict in every way, whatever it goes along', async () => {
      const { store } = fixture();
      await fill(fixture);
      const filters: EventFilter[] = [
        {},
        { status: 'handled' },
        { status: 'skipped' },
        { status: 'dead' },
        { status: 'pending' },
        { kind: 'media_deleted' },
        { kind: ['media_deleted', 'media_updated'] },
        { kind: ['media_deleted'] },
        { kind: 'media_deleted', status: 'dead' },
        { site: 'site-2' },
        { webhook: 'webhook-1' },
        { q: 'media-3' },
        { resource: 'media:media-1' },
        { resource: 'media:media-1', status: 'handled' },
        { since: EVENT_TIME + 3000 },
        { until: EVENT_TIME + 3000 },
        { since: EVENT_TIME + 2000, until: EVENT_TIME + 4000, kind: 'media_updated' },
        { kind: 'unheard_of' },
      ];
      for (const filter of filters) {
        const expected = (await store.events(filter, { limit: 1000 })).map(({ id }) => id);
        for (const reach of [1, 3, 7, FAR]) {
          const ids: string[] = [];
          for (let before: string | undefined; ; ) {
            const { events, next } = await found(filter, { before, limit: 2, reach });
            ids.push(...events.map(({ id }) => id));
            if (next === undefined) break;
            before = next;
          }
          expect({ filter, reach, ids: ids.toSorted() }).toEqual({ filter, reach, ids: expected.toSorted() });
        }
      }
    });

    test('gives the newest received first, when neither resource nor times are asked for', async () => {
      await record({ media_id: 'a', at: EVENT_TIME + 5000 });
      await record({ media_id: 'b', at: EVENT_TIME });
      const { events } = await found({});
      expect(events.map(({ resource }) => resource)).toEqual(['media:b', 'media:a']);
    });

    test('gives the newest event time first, when a resource or times are asked for', async () => {
      await record({ at: EVENT_TIME + 5000 });
      await record({ at: EVENT_TIME });
      const times = { since: EVENT_TIME, until: EVENT_TIME + 5001 };
      const [kind, status] = ['media_available', 'pending'] as const;
      const filters = [{ resource: 'media:media-1' }, times, { ...times, kind }, { ...times, status }];
      for (const filter of filters) {
        for (const reach of [1, 2, FAR]) {
          const first = await found(filter, { limit: 1, reach });
          const second = await found(filter, { limit: 1, reach, before: first.next });
          const seen = [...first.events, ...second.events].map(({ eventTime }) => eventTime);
          expect({ filter, reach, seen }).toEqual({ filter, reach, seen: [EVENT_TIME + 5000, EVENT_TIME] });
        }
      }
    });

    test('and all else that filters pass over an event without an event time, when they have times', async () => {
      const { store } = fixture();
      const { id } = await record({ event_time: 'soon' });
      await record({ event_time: undefined });
      const old = await record({ at: -1000 });
      const others: EventFilter[] = [
        {},
        { resource: 'media:media-1' },
        { kind: 'media_available' },
        { status: 'pending' },
        { ids: [id, old.id] },
      ];
      for (const times of [{ until: FAR }, { since: -FAR }, { since: -FAR, until: FAR }]) {
        for (const other of others) {
          const filter = { ...times, ...other };
          const { events } = await found(filter);
          expect({ filter, ids: events.map((event) => event.id) }).toEqual({ filter, ids: [old.id] });
          expect({ filter, count: await store.count(filter) }).toEqual({ filter, count: 1 });
        }
      }
      await settleAll(store, HANDLED);
      expect(await store.replayable({ until: FAR }, { limit: 10, reach: FAR })).toMatchObject({
        ids: [old.id],
      });
      expect(await store.replay({ until: FAR })).toBe(1);
      expect(await store.replay({ kind: 'media_available', status: 'handled' })).toBe(2);
    });

    test('says how far it came, when nothing matches within its reach, so that it can go on', async () => {
      await record({ media_id: 'needle' });
      for (let n = 0; n < 5; n++) await record({ media_id: `hay-${n}` });
      const first = await found({ q: 'needle' }, { reach: 3 });
      expect(first.events).toEqual([]);
      const second = await found({ q: 'needle' }, { reach: 3, before: first.next });
      expect(second.events).toHaveLength(1);
    });

    test('finds nothing more, when it is to go on after an event that is not there', async () => {
      await record({});
      expect(await found({}, { before: 'abc-0123456789abcdef0123' })).toEqual({
        events: [],
        next: undefined,
      });
    });

    test('picks what a replay would take, when some are pending, running or pruned, and nothing else', async () => {
      const { store } = fixture();
      await fill(fixture);
      await store.prune(Number.MAX_SAFE_INTEGER, 1);
      const { ids, next } = await store.replayable({}, { limit: 100, reach: FAR });
      expect(next).toBeUndefined();
      const times = ids.map((id) => Number.parseInt(id, 36));
      expect(times).toEqual(times.toSorted((one, other) => one - other));
      expect(await store.replay({ ids })).toBe(ids.length);
      expect(await store.replay({})).toBe(0);
    });

    test('picks each once, in the order of event times, when many share one and each step is short', async () => {
      const { store } = fixture();
      const states = [HANDLED, DEAD, SKIPPED, waiting(60_000)];
      for (let n = 0; n < 16; n++) {
        const at = EVENT_TIME + Math.floor((n % 9) / 6) * 1000; // most at one time
        await record({ media_id: n % 8 === 7 ? 'other' : 'one', user_id: `user-${n}`, at });
        await settleAll(store, states[n % 4] ?? HANDLED);
      }
      const all = (await store.replayable({}, { limit: 100, reach: FAR })).ids;
      expect(all).toHaveLength(16);
      const filters: EventFilter[] = [
        {},
        { resource: 'media:one' },
        { resource: 'media:one', since: EVENT_TIME + 1 },
        { resource: 'media:one', until: EVENT_TIME + 1 },
        { status: 'dead' },
        { status: 'pending' },
        { kind: 'media_available' },
        { ids: all.slice(3, 9) },
        { since: EVENT_TIME + 1000 },
      ];
      for (const filter of filters) {
        const taken = new Set((await store.events(filter, { limit: 100 })).map(({ id }) => id));
        const expected = all.filter((id) => taken.has(id));
        for (const reach of [1, 2, 3, 5, FAR]) {
          const ids: string[] = [];
          for (let before: string | undefined; ; ) {
            const picked = await store.replayable(filter, { before, limit: 2, reach });
            ids.push(...picked.ids);
            if (picked.next === undefined) break;
            before = picked.next;
          }
          expect({ filter, reach, ids }).toEqual({ filter, reach, ids: expected });
        }
      }
    });
  });
}
