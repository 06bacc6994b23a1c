import { expect, test } from '@jest/globals';
import type { Claim, ClaimRequest } from '../../src/store/event-store.ts';
import {
  claimed,
  claimedOne,
  FAILED,
  HANDLED,
  handledInTurn,
  LEASE_MS,
  notified,
  OTHER,
  polled,
  recorded,
} from './desk.ts';
import { onEachEngine } from './stages.ts';

onEachEngine('claim', (stage) => {
  test('never gives two events of one resource at once, whoever asks, and however', async () => {
    const { store } = stage;
    const other = await stage.another();
    await recorded(store, notified('media:one'), notified('media:one'), notified('media:two'));
    const asked = await Promise.all([
      claimed(store, 'media:one'),
      polled(store),
      polled(other, { owner: OTHER, oldest: 0, newest: 5 }),
      polled(other, { names: ['media:one', 'media:two'], oldest: 9, newest: 9, owner: OTHER }),
    ]);
    expect(
      asked
        .flat()
        .map(({ resource }) => resource)
        .sort(),
    ).toEqual(['media:one', 'media:two']);
  });

  test('leases of limited kinds as many as there is room for, the oldest first, and sets the others aside: polls find what is behind', async () => {
    const { store } = stage;
    const tracks = [1, 2, 3, 4].map((n) => notified(`media:track-${n}`, n, { kind: 'track_created' }));
    const others = [notified('media:odd', 5, { kind: 'media_exploded' }), notified('media:one', 6)];
    for (const [at, one] of [...tracks, ...others].entries()) await store.record(one, stage.clock.now() + at);
    const asking = async (request: Partial<ClaimRequest>, ...rooms: readonly number[]) => {
      const limits = [['unknown'], ['track_created']].map((kinds, at) => ({ kinds, room: rooms[at] ?? 0 }));
      const claims = await polled(store, { limits, ...request });
      return claims.map(({ resource }) => resource.slice(6)).sort();
    };
    expect(await asking({ oldest: 3 }, 0, 1)).toEqual(['track-1']);
    expect(await asking({ oldest: 2 })).toEqual([]);
    expect(await asking({ oldest: 2 })).toEqual(['one']);
    expect(await asking({ names: ['media:odd', 'media:track-4'], oldest: 0 })).toEqual([]);
    expect(await asking({ oldest: 9 })).toEqual([]);
    expect(await asking({ oldest: 9 }, 1, 2)).toEqual(['odd', 'track-2', 'track-3']);
    await recorded(store, notified('media:track-4', 0)); // older, and of another kind
    expect(await asking({ oldest: 9 })).toEqual(['track-4']);
  });

  test('finds lanes that another process has set aside, when it has no limits, or others', async () => {
    const { store } = stage;
    const limits = [{ kinds: ['track_created', 'media_available'], room: 0 }];
    const kinds = ['track_created', 'media_available'];
    await recorded(store, ...kinds.map((kind) => notified(`media:${kind}`, 0, { kind })));
    expect(await polled(store, { limits })).toEqual([]);
    const others = [{ kinds: ['media_deleted', 'track_created'], room: 1 }];
    expect(await polled(store, { oldest: 1, limits: others })).toMatchObject([{}]);
    expect(await polled(store)).toMatchObject([{}]);
  });

  test('names each lease otherwise, also in a process that began again', async () => {
    const { store } = stage;
    await recorded(store, ...[1, 2, 3].map((n) => notified(`media:${n}`)));
    const first = await polled(store, { oldest: 2 });
    const again = await polled(await stage.another());
    const leases = [...first, ...again].map(({ lease }) => lease);
    expect(new Set(leases).size).toBe(3);
    expect(await stage.sql('SELECT lease FROM lanes WHERE owner IS NULL OR until IS NULL')).toEqual([]);
  });

  test('leases only as many as were asked for: those that have waited longest, and those that came last', async () => {
    const { store } = stage;
    for (let n = 0; n < 6; n++) {
      await recorded(store, notified(`media:${n}`, -n)); // the event time of an older one is newer
      await stage.pass(10);
    }
    const claims = await polled(store, { oldest: 2, newest: 1 });
    expect(claims.map(({ resource }) => resource).sort()).toEqual(['media:0', 'media:1', 'media:5']);
    expect(await stage.sql('SELECT resource FROM lanes WHERE lease IS NOT NULL')).toHaveLength(3);
  });

  test('counts the waiting of a lane from the receipt of its ready event, whoever opens it', async () => {
    const { store } = stage;
    await recorded(store, notified('media:old'), notified('media:old', 1));
    const first = stage.clock.now();
    const claim = await claimedOne(store, 'media:old');
    await stage.pass(100);
    await recorded(store, notified('media:new'), notified('media:old', 2));
    await store.settle(claim, FAILED);
    await stage.pass(2000);
    expect(await store.wake()).toEqual(['media:old']);
    const ready = await stage.sql<{ resource: string; ready_at: number }>(
      'SELECT resource, ready_at FROM lanes ORDER BY 1',
    );
    expect(ready).toEqual([
      { resource: 'media:new', ready_at: first + 100 },
      { resource: 'media:old', ready_at: first },
    ]);
    const [woken] = await polled(store, { oldest: 1 });
    expect(woken).toMatchObject({ resource: 'media:old' });
    await store.settle(woken as Claim, HANDLED);
    await store.settle(await claimedOne(store, 'media:old'), HANDLED);
    expect(await stage.sql("SELECT ready_at FROM lanes WHERE resource = 'media:old'")).toEqual([
      { ready_at: first + 100 },
    ]);
  });
});

onEachEngine('late', (stage) => {
  test('is decided with the first start: it does not become late while it waits for a retry, nor by a crash', async () => {
    const { store } = stage;
    await recorded(store, notified('media:one', 3));
    await store.settle(await claimedOne(store, 'media:one'), FAILED);
    await recorded(store, notified('media:one', 5));
    await handledInTurn(store, 'media:one');
    await stage.pass(2000);
    await store.wake();
    const again = await claimedOne(store, 'media:one');
    expect(again).toMatchObject({ late: false, starts: 2 });
    await stage.pass(LEASE_MS + 1);
    await store.recover({ held: [], maxAttempts: 40 });
    expect(await claimedOne(store, 'media:one')).toMatchObject({ late: false, starts: 3 });
  });

  test('is an event that was never run, although the newer handled one is being replayed', async () => {
    const { store } = stage;
    await recorded(store, notified('media:one', 5));
    await handledInTurn(store, 'media:one');
    await recorded(store, notified('media:one', 3));
    await store.replay({ status: 'handled' });
    expect(await claimedOne(store, 'media:one')).toMatchObject({ replays: 0, late: true });
  });
});
