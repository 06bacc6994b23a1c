import { expect, test } from '@jest/globals';
import { erase } from '../../src/cli/erase.ts';
import type { ExpectedNotification } from '../../src/index.ts';
import { reconcileOnce } from '../../src/reconcile/index.ts';
import type { EventStore, VerifiedNotification } from '../../src/store/event-store.ts';
import { claimedOne, HANDLED, NOON, notified, recorded } from '../store/desk.ts';
import { onEachEngine, type Stage } from '../store/stages.ts';
import { DEAD } from '../support/claiming.ts';
import { logLines } from '../support/log-lines.ts';

const MINUTE = 60;

/** A notification that should have come, some seconds after noon. */
const lost = (media_id: string, seconds = 0): ExpectedNotification => ({
  ...{ event: 'media_available', media_id, site_id: 'site1' },
  event_time: new Date(NOON + seconds * 1000),
});

async function* listed(list: readonly ExpectedNotification[]) {
  yield* list;
}

/** A pass over a list, an hour after noon. */
function passOver(
  { store }: Stage,
  expected: AsyncIterable<ExpectedNotification>,
  flags: { most?: number; isTrial?: boolean } = {},
) {
  const clock = { now: () => NOON + 3_600_000, monotonic: () => 0, after: () => () => {} };
  const [reconcile, { signal }] = [{ expected: () => expected }, new AbortController()];
  return reconcileOnce(reconcile, undefined, { store, log: logLines().log, clock, signal }, flags);
}

const namesOf = async ({ queue }: EventStore) => {
  const filter = { origins: ['reconciled'] as const };
  const { events } = await queue.search({ filter, limit: 1000, order: 'oldest' });
  return events.map(({ resource }) => resource.replace('media:', ''));
};

onEachEngine('a pass', (stage) => {
  test('takes an event for what was expected, whatever became of it, if it is of that kind and no older than a minute before', async () => {
    const { store } = stage;
    const kinds: Record<string, Partial<VerifiedNotification>> = { kind: { kind: 'media_updated' } };
    const came = { same: 0, newer: 999, earlier: -MINUTE, old: -MINUTE - 1, kind: 0, handled: 0, dead: 0 };
    for (const [name, seconds] of Object.entries({ ...came, dismissed: 0 }))
      await recorded(store, notified(`media:${name}`, seconds, { siteId: 'other', ...kinds[name] }));
    await store.queue.settle(await claimedOne(store, 'media:handled'), HANDLED);
    await store.queue.settle(await claimedOne(store, 'media:dead'), DEAD);
    await store.queue.dismiss({ resource: 'media:dismissed' }, 'not needed');
    await store.queue.prune({ before: NOON * 2, limit: 100 });
    const names = [...Object.keys(came), 'dismissed', 'none'];
    const list = [
      ...names.map((name) => lost(name)),
      lost('young', 45 * MINUTE + 1),
      lost('boundary', 45 * MINUTE),
    ];
    expect(await passOver(stage, listed(list))).toMatchObject({
      expected: names.length + 2,
      missing: { media_available: 4 },
      isRecorded: true,
    });
    expect((await namesOf(store)).toSorted()).toEqual(['boundary', 'kind', 'none', 'old']);
    expect((await passOver(stage, listed(list))).missing).toEqual({});
  });

  test('leaves what was erased as it is', async () => {
    const { store, clock } = stage;
    await recorded(store, notified('media:private'));
    await passOver(stage, listed([lost('private'), lost('other')]));
    await erase(store, { resource: 'media:private' }, { clock, onStep: () => {} });
    expect((await passOver(stage, listed([lost('private'), lost('other')]))).missing).toEqual({});
    expect(await namesOf(store)).toEqual(['other']);
  });

  test('records what waits in quarantine, and tells how many of these do', async () => {
    const { store } = stage;
    for (const [name, seconds, kind] of [
      ['waits', 0, 'media_available'],
      ['waits', 0, 'media_available'],
      ['early', -MINUTE, 'media_available'],
      ['old', -MINUTE - 1, 'media_available'],
      ['other', 0, 'media_updated'],
      ['unasked', 0, 'media_available'],
    ] as const) {
      const { id, ...one } = notified(`media:${name}`, seconds, { kind });
      await store.quarantine.add({ ...one, id, token: id, source: '203.0.113.7' }, 1e6);
    }
    const list = ['waits', 'early', 'old', 'other', 'none'].map((name) => lost(name));
    expect(await passOver(stage, listed(list))).toMatchObject({
      missing: { media_available: 5 },
      quarantined: 2,
    });
    expect(await namesOf(store)).toHaveLength(5);
    expect(await store.quarantine.size()).toBe(6);
  });

  test('records exactly `most`, none of more, and none where it only counts; one that is listed twice counts once', async () => {
    const list = Array.from({ length: 250 }, (_, n) => lost(`media${n}`));
    const twice = () => listed([...list, ...list.toReversed()]);
    const counted = { expected: 500, missing: { media_available: 250 }, since: NOON - 47 * 3_600_000 };
    const refused = { ...counted, expected: 250, isRecorded: false };
    expect(await passOver(stage, listed(list), { most: 249 })).toMatchObject(refused);
    expect(await passOver(stage, twice(), { isTrial: true })).toMatchObject({
      ...counted,
      isRecorded: false,
    });
    expect(await namesOf(stage.store)).toEqual([]);
    expect(await passOver(stage, twice(), { most: 250 })).toMatchObject({ ...counted, isRecorded: true });
    expect(new Set(await namesOf(stage.store)).size).toBe(250);
    expect(await stage.sql('SELECT id FROM events WHERE deliveries > 1')).toEqual([]);
  });

  test('records nothing that has come, while it went on', async () => {
    const { store } = stage;
    async function* slowly() {
      for (let n = 0; n < 150; n++) yield lost(`media${n}`);
      await recorded(store, notified('media:media0'), notified('media:media149'));
    }
    await passOver(stage, slowly());
    expect(await namesOf(store)).toHaveLength(148);
  });

  test('has the first notification of its kind and media name what it recorded, and no other', async () => {
    const { store } = stage;
    await passOver(stage, listed([lost('one'), lost('two')]));
    const [event] = (await store.queue.search({ filter: { resource: 'media:one' }, limit: 1 })).events;
    const repeats = async (more: Partial<VerifiedNotification>, origin?: 'import') => {
      const one = notified('media:one', 5, more);
      await store.queue.record({ ...one, ...(origin && { origin }) });
      return (await store.queue.event({ id: one.id }))?.repeats;
    };
    const all = [await repeats({}, 'import'), await repeats({ kind: 'media_updated' }), await repeats({})];
    expect([...all, await repeats({})]).toEqual([undefined, undefined, event?.id, undefined]);
    const claim = await claimedOne(store, 'media:one');
    expect([claim.origin, claim.repeats]).toEqual(['reconciled', undefined]);
  });
});
