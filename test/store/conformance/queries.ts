import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { EventFilter, EventStore, Received, StoredEvent } from '../../../src/store/event-store.ts';
import { matcher } from '../../../src/store/semantics/matching.ts';
import { claimOne, claims, DEAD, HANDLED, SKIPPED, waiting } from '../../support/claiming.ts';
import { runs } from '../../support/sizes.ts';
import type { CurrentFixture } from '../../support/store-fixture.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const KINDS = ['media_available', 'media_deleted', 'new_kind', ''];
const TITLES = ['50% off', 'under_score', 'Ünïcode \u{1f3ac}', "it's", 'plain'];
const ENDS = [HANDLED, SKIPPED, DEAD, waiting(10 ** 12)];

/** The member of a list that a number comes to. */
function pick<T>(list: readonly T[], number: number): T {
  return list[number % list.length] as T;
}

/** Sixty events of everything that a filter can tell apart, in every status, some of them pruned. */
async function fill(store: EventStore): Promise<void> {
  for (let number = 0; number < 60; number++) {
    await store.record(
      verified({
        event: pick(KINDS, number),
        webhook_id: `webhook-${number % 4}`,
        site_id: `site-${number % 5}`,
        media_id: `media-${number % 50}`,
        at: EVENT_TIME + ((number * 7) % 13) * 1000,
        title: pick(TITLES, Math.floor(number / 3)),
        number,
        ...(number % 9 === 5 && { event_time: 'soon' }),
      }),
    );
  }
  const [first, second, ...ready] = await claims(store, { limit: 40 });
  for (const claim of [first, second]) if (claim) await store.settle(claim, 'one', HANDLED);
  await store.prune(Number.MAX_SAFE_INTEGER, 10);
  for (const [number, claim] of ready.entries()) {
    if (number % 5 < ENDS.length) await store.settle(claim, 'one', pick(ENDS, number % 5));
  }
}

function matches(event: StoredEvent, filter: EventFilter): boolean {
  const { ids, kind, status, site, resource, webhook, since, until, q } = filter;
  return (
    (ids === undefined || ids.includes(event.id)) &&
    (kind === undefined || [kind].flat().includes(event.kind)) &&
    (status === undefined || event.status === status) &&
    (site === undefined || event.siteId === site) &&
    (resource === undefined || event.resource === resource) &&
    (webhook === undefined || event.webhookId === webhook) &&
    (since === undefined || (event.eventTime !== 0 && event.eventTime >= since)) &&
    (until === undefined || (event.eventTime !== 0 && event.eventTime < until)) &&
    (q === undefined || event.body?.includes(q) === true)
  );
}

/** Mostly one or two restrictions, so that most filters let something through. */
function filters(ids: readonly string[]): fc.Arbitrary<EventFilter> {
  const rarely = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 3 });
  const time = fc.oneof(
    fc.integer({ min: -1, max: 14 }).map((seconds) => EVENT_TIME + seconds * 1000),
    fc.constantFrom(-1, 0, 1),
  );
  return fc.record({
    ids: fc.option(fc.subarray([...ids, 'nonsense']), { nil: undefined, freq: 1 }),
    kind: rarely(fc.oneof(fc.constantFrom(...KINDS, 'none'), fc.subarray([...KINDS, 'none']))),
    status: rarely(fc.constantFrom('pending', 'running', 'handled', 'skipped', 'dead')),
    site: rarely(fc.nat(5).map((number) => `site-${number}`)),
    resource: fc.option(
      fc.nat(50).map((number) => `media:media-${number}`),
      { nil: undefined, freq: 1 },
    ),
    webhook: rarely(fc.nat(4).map((number) => `webhook-${number}`)),
    since: rarely(time),
    until: rarely(time),
    q: rarely(fc.constantFrom('', ...TITLES, '%', '_', 'PLAIN', '"number":1', '\u{1f3ac}', 'absent')),
  }) as fc.Arbitrary<EventFilter>;
}

/** All stretches one after the other. */
async function walked(store: EventStore, filter: EventFilter, limit: number): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for (;;) {
    const stretch = await store.eventsAfter(filter, found.at(-1)?.id, limit);
    expect(stretch.length).toBeLessThanOrEqual(limit);
    if (stretch.length === 0) return found;
    found.push(...stretch);
  }
}

/** The same of what a recording holds, without the places. */
async function received(store: EventStore, filter: EventFilter, limit: number) {
  const found: Received[] = [];
  for (;;) {
    const stretch = await store.receivedAfter(filter, found.at(-1)?.place, limit);
    expect(stretch.length).toBeLessThanOrEqual(limit);
    if (stretch.length === 0) return found.map(({ place, ...rest }) => rest);
    found.push(...stretch);
  }
}

/** All pages one after the other. */
async function paged(store: EventStore, filter: EventFilter, limit: number): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for (;;) {
    const page = await store.events(filter, { before: found.at(-1)?.id, limit });
    expect(page.length).toBeLessThanOrEqual(limit);
    if (page.length === 0) return found;
    found.push(...page);
  }
}

export function describeQueries(fixture: CurrentFixture): void {
  describe('events and count', () => {
    test('give nothing, when nothing was recorded', async () => {
      const { store } = fixture();
      expect(await store.events({}, { limit: 10 })).toEqual([]);
      expect(await store.count({})).toBe(0);
    });

    test('give what a naive filter gives, when any members are filtered by, newest received first', async () => {
      const { store } = fixture();
      await fill(store);
      const all = await store.events({}, { limit: 100 });
      expect(all).toHaveLength(60);
      expect(new Set(all.map(({ status }) => status)).size).toBe(5);
      expect(all.filter(({ body }) => body === undefined)).toHaveLength(2);
      const property = fc.asyncProperty(filters(all.map(({ id }) => id)), async (filter) => {
        const expected = all.filter((event) => matches(event, filter));
        expect(all.filter(matcher(filter))).toEqual(expected);
        expect(await store.events(filter, { limit: 100 })).toEqual(expected);
        expect(await store.count(filter)).toBe(expected.length);
      });
      await fc.assert(property, { numRuns: runs(300) });
    });

    test('give every event once, when they are read page by page or in the order of receipt, in any size', async () => {
      const { store } = fixture();
      await fill(store);
      const all = await store.events({}, { limit: 100 });
      const property = fc.asyncProperty(
        filters([]),
        fc.integer({ min: 1, max: 30 }),
        async (given, limit) => {
          const filter = { ...given, ids: undefined };
          const expected = all.filter((event) => matches(event, filter));
          expect(await paged(store, filter, limit)).toEqual(expected);
          expect(await walked(store, filter, limit)).toEqual(expected.reverse());
          expect(await received(store, filter, limit)).toEqual(
            expected.map(({ body, receivedAt, webhookId }) => ({ body, receivedAt, webhookId })),
          );
        },
      );
      await fc.assert(property, { numRuns: runs(60) });
    });

    test('go on where a page ended, when more was recorded meanwhile, without a repeat', async () => {
      const { store } = fixture();
      const ids: string[] = [];
      for (let number = 0; number < 4; number++) {
        ids.push((await store.record(verified({ media_id: `media-${number}` }))).id);
      }
      const first = await store.events({}, { limit: 2 });
      await store.record(verified({ media_id: 'new' }));
      const second = await store.events({}, { limit: 2, before: first.at(-1)?.id });
      expect([...first, ...second].map(({ id }) => id)).toEqual(ids.reverse());
    });

    test('go on to what is new, when all is read in the order of receipt and more is recorded meanwhile', async () => {
      const { store } = fixture();
      const first = await store.record(verified({ media_id: 'first' }));
      expect(await store.eventsAfter({}, first.id, 10)).toEqual([]);
      const next = await store.record(verified({ media_id: 'next', at: EVENT_TIME - 1000 }));
      expect((await store.eventsAfter({}, first.id, 10)).map(({ id }) => id)).toEqual([next.id]);
    });

    test('give nothing, when they are to go on from an event that is not there', async () => {
      const { store } = fixture();
      await store.record(verified());
      const unknown = `0-${'0'.repeat(20)}`;
      expect(await store.events({}, { before: unknown, limit: 10 })).toEqual([]);
      expect(await store.eventsAfter({}, unknown, 10)).toEqual([]);
    });

    test('find events by id, when thousands of ids are given', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      const others = Array.from({ length: 3000 }, (_, number) => `${number.toString(36)}-${'0'.repeat(20)}`);
      const filter = { ids: [...others, id] };
      expect((await store.events(filter, { limit: 10 })).map((event) => event.id)).toEqual([id]);
      expect(await store.count(filter)).toBe(1);
    });

    test('find an event by its id, when the time in it has leading zeros', async () => {
      const { store } = fixture();
      const { id } = await store.record(verified());
      expect(await store.event(`00${id}`)).toMatchObject({ id });
      expect(await store.count({ ids: [`00${id}`] })).toBe(1);
    });

    test('see at once what another instance has committed', async () => {
      const { store, open } = fixture();
      const other = await open();
      const { id } = await store.record(verified());
      expect(await other.event(id)).toMatchObject({ id, status: 'pending' });
      await other.settle(await claimOne(other), 'one', HANDLED);
      expect(await store.count({ status: 'handled' })).toBe(1);
      expect(await store.attempts(id)).toHaveLength(1);
    });
  });
}
