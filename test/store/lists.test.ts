import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type {
  EventFilter,
  EventStore,
  Report,
  Search,
  Stat,
  Status,
  VerifiedNotification,
} from '../../src/store/event-store.ts';
import { runs } from '../support/sizes.ts';
import { claimedOne, FAILED, HANDLED, NOON, notified, recorded } from './desk.ts';
import { onEachEngine, type Stage } from './stages.ts';

interface Listed extends VerifiedNotification {
  status: Status;
}

const KINDS = ['media_available', 'media_deleted', 'an_odd_kind'];
const ENDS = ['handled', 'skipped', 'dead', 'dismissed', 'pending'] as const;

/** Events of all kinds and statuses, in the order of their receipt. */
async function filled({ store }: Stage): Promise<Listed[]> {
  const all: Listed[] = Array.from({ length: 90 }, (_, n) => ({
    ...notified(`media:${n % 7}`, n % 11, {
      kind: KINDS[n % 3] ?? '',
      siteId: `site${n % 2}`,
      webhookId: `webhook${n % 4}`,
      body: `{"n":"<${n}>"}`,
      ...(n % 13 === 0 && { eventTime: 0 }),
    }),
    status: 'pending',
  }));
  for (const { status: _, ...one } of all) await store.queue.record(one);
  const find = (id: string) => all.find((one) => one.id === id) as Listed;
  for (let lane = 0; lane < 7; lane++)
    for (let turn = 0; turn < 9; turn++) {
      const claim = await claimedOne(store, `media:${lane}`);
      const status = ENDS[(turn + lane) % ENDS.length] ?? 'handled';
      const end = status === 'dismissed' ? 'dead' : status;
      await store.queue.settle(claim, {
        ...HANDLED,
        status: end,
        afterMs: end === 'pending' ? 60_000 : undefined,
      });
      if (status === 'dismissed') await store.queue.dismiss({ ids: [claim.id] }, 'no');
      find(claim.id).status = status;
    }
  for (const lane of [2, 4]) find((await claimedOne(store, `media:${lane}`)).id).status = 'running';
  return all;
}

function matches(one: Listed, filter: EventFilter): boolean {
  const { ids, kind, status, site, resource, webhook, since, until, q } = filter;
  const hasTimes = since !== undefined || until !== undefined;
  return (
    (ids === undefined || ids.includes(one.id)) &&
    (kind === undefined || [kind].flat().includes(one.kind)) &&
    (status === undefined || one.status === status) &&
    (site === undefined || one.siteId === site) &&
    (resource === undefined || one.resource === resource) &&
    (webhook === undefined || one.webhookId === webhook) &&
    (!hasTimes || one.eventTime !== 0) &&
    one.eventTime >= (since ?? Number.NEGATIVE_INFINITY) &&
    one.eventTime < (until ?? Number.POSITIVE_INFINITY) &&
    one.body.includes(q ?? '')
  );
}

/** What a filter finds, oldest first: by event time within a resource, else as received. */
function expected(all: readonly Listed[], filter: EventFilter): string[] {
  const found = all.filter((one) => matches(one, filter));
  if (filter.resource !== undefined) found.sort((one, other) => one.eventTime - other.eventTime); // keeps the order of receipt otherwise
  return found.map(({ id }) => id);
}

const times = fc.nat(12).map((n) => NOON + n * 1000);
const maybe = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: undefined, freq: 2 });
const filters = (all: () => readonly Listed[]): fc.Arbitrary<EventFilter> =>
  fc.record({
    ids: maybe(fc.array(fc.nat(89), { maxLength: 6 }).map((list) => list.map((n) => all()[n]?.id ?? ''))),
    kind: maybe(fc.oneof(fc.constantFrom(...KINDS, 'no\0 kind'), fc.subarray(KINDS))),
    status: maybe(fc.constantFrom(...ENDS, 'running')),
    site: maybe(fc.constantFrom('site0', 'site1')),
    resource: maybe(fc.nat(7).map((n) => `media:${n}`)),
    webhook: maybe(fc.nat(4).map((n) => `webhook${n}`)),
    since: maybe(times),
    until: maybe(times),
    q: maybe(fc.constantFrom('<1', '"', 'n', '%', '_')),
  });

async function pages(
  search: (search: Search) => ReturnType<EventStore['queue']['search']>,
  filter: EventFilter,
  extent: { readonly limit: number; readonly reach: number },
): Promise<string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const { events, next } = await search({ filter, ...extent, after });
    expect(events.length).toBeLessThanOrEqual(extent.limit);
    ids.push(...events.map(({ id }) => id));
    after = next;
  } while (after !== undefined);
  return ids;
}

onEachEngine('lists', (stage) => {
  test('show and count what stands on one side of a place, however much came on the other', async () => {
    const { store } = stage;
    await recorded(store, ...Array.from({ length: 6 }, (_, n) => notified(`media:${n}`)));
    const { events } = await store.queue.search({ limit: 6 });
    const upTo = events[3]?.seq ?? 0;
    const some = { limit: 2, reach: 2, upTo };
    expect((await store.queue.search(some)).events).toEqual(events.slice(3, 5));
    expect((await store.queue.search({ filter: { status: 'pending' }, ...some })).events).toEqual(
      events.slice(3, 5),
    );
    expect(await store.queue.tally({ newerThan: upTo })).toMatchObject({ events: 3 });
    expect(await store.queue.tally({ newerThan: upTo, resource: 'media:0' })).toMatchObject({ events: 0 });
  });

  test('find what a plain model finds, by any filter, in either order, in pages and reaches of any length', async () => {
    const { store } = stage;
    const all = await filled(stage);
    const extents = fc.record({ limit: fc.constantFrom(1, 3, 100), reach: fc.constantFrom(2, 7, 1000) });
    const search = fc.asyncProperty(
      filters(() => all),
      extents,
      async (filter, extent) => {
        const ids = expected(all, filter);
        expect(await pages((by) => store.queue.search({ ...by, order: 'oldest' }), filter, extent)).toEqual(
          ids,
        );
        expect(await pages(store.queue.search, filter, extent)).toEqual(ids.toReversed());
        expect(await store.queue.count(filter)).toBe(ids.length);
      },
    );
    await fc.assert(search, { numRuns: runs(300) });
    const received = fc.asyncProperty(
      filters(() => all),
      fc.nat(89),
      async (filter, from) => {
        const [first] = await stage.sql<{ seq: number }>('SELECT min(seq) AS seq FROM events');
        const [after, upTo] = [Number(first?.seq) + from - 1, await store.queue.lastSeq()];
        const { list } = await store.queue.receivedPage({ filter, after, limit: 500, upTo });
        expect(list.map(({ id }) => id)).toEqual(
          all.slice(from).flatMap((one) => (matches(one, filter) ? [one.id] : [])),
        );
      },
    );
    await fc.assert(received, { numRuns: runs(100) });
  });
});

onEachEngine('overview', (stage) => {
  test('tells since when the oldest is pending, running ones and replays left out', async () => {
    const { store } = stage;
    const at = stage.clock.now();
    const oldest = async () => {
      const { oldestPendingAt } = await store.reports.overview();
      return oldestPendingAt === undefined ? undefined : oldestPendingAt - at;
    };
    expect(await oldest()).toBeUndefined();
    await recorded(store, notified('media:one', 1));
    await stage.clock.advance(10);
    await recorded(store, notified('media:one', 2));
    await stage.clock.advance(10);
    await recorded(store, notified('media:two'));
    expect(await oldest()).toBe(0);
    const claim = await claimedOne(store, 'media:one');
    expect(await oldest()).toBe(10);
    await store.queue.settle(claim, FAILED);
    expect(await oldest()).toBe(0); // it waits
    await store.queue.settle(await claimedOne(store, 'media:one'), HANDLED);
    await stage.sql(
      "UPDATE events SET next_at = NULL, status = 'handled', ended_at = 1 WHERE next_at IS NOT NULL",
    );
    expect(await oldest()).toBe(20);
    await store.queue.replay({});
    expect(await oldest()).toBe(20);
  });

  test('tells since when the oldest is ready, those left out that a handler has started before', async () => {
    const { store, clock } = stage;
    const oldestPendingAt = clock.now();
    await recorded(store, notified('media:one'));
    await store.queue.settle(await claimedOne(store, 'media:one'), FAILED);
    await stage.pass(2000);
    expect(await store.queue.wake()).toEqual(['media:one']);
    expect(await store.reports.overview()).toMatchObject({ oldestPendingAt, oldestReadyAt: undefined });
    const oldestReadyAt = clock.now();
    await recorded(store, notified('media:two'));
    expect(await store.reports.overview()).toMatchObject({ oldestPendingAt, oldestReadyAt });
  });
});

const DAY_MS = 86_400_000;
const stat = (count: number, ms: number, slowest: number, more: Partial<Stat> = {}) => ({
  ...{ minute: NOON, subscriber: '', kind: 'media_created', result: 'accepted' },
  ...{ count, ms, slowest, ...more },
});
const reportOf = (name: string, ...stats: Report['stats']): Report => {
  const instance = { name, version: '1.0.0', startedAt: NOON, running: 0, kinds: [] };
  return { instance, stats, refusals: [] };
};

onEachEngine('statistics', (stage) => {
  test('of several processes and times add up, by the minute', async () => {
    const { store } = stage;
    const other = await stage.another();
    await store.reports.report(reportOf('a', stat(2, 3.5, 2.5), stat(1, 9, 9, { result: 'handled' })));
    await Promise.all([
      store.reports.report(reportOf('a', stat(1, 0.5, 0.5))),
      other.reports.report(reportOf('b', stat(4, 10, 7))),
      other.reports.report(reportOf('b', stat(8, 1, 1, { minute: NOON + 60_000, kind: 'media_updated' }))),
    ]);
    const sums = await store.reports.stats({ since: NOON });
    expect(sums.toSorted((x, y) => x.count - y.count)).toEqual([
      { minute: NOON, result: 'handled', count: 1, ms: 9, slowest: 9 },
      { minute: NOON, result: 'accepted', count: 7, ms: 14, slowest: 7 },
      { minute: NOON + 60_000, result: 'accepted', count: 8, ms: 1, slowest: 1 },
    ]);
    expect(await other.reports.stats({ since: NOON + 60_000 })).toHaveLength(1);
  });

  test('are kept for eight days, when something comes, and for thirty while nothing does', async () => {
    const { store, clock } = stage;
    const ago = (days: number) => clock.now() - days * DAY_MS;
    const minutes = [ago(30) - 1, ago(8) - 1, ago(7)].map((minute) => stat(1, 1, 1, { minute }));
    const kept = async () => (await store.reports.stats({ since: 0 })).map(({ minute }) => minute);
    await store.reports.report(reportOf('a', ...minutes));
    expect((await kept()).toSorted()).toEqual([ago(8) - 1, ago(7)]);
    await store.reports.report({ ...reportOf('a'), accepted: ['hook0001'] });
    expect(await kept()).toEqual([ago(7)]);
  });
});
