import { expect, test } from '@jest/globals';
import type { Claim, ClaimRequest, VerifiedNotification } from '../../src/store/event-store.ts';
import { claimed, claimedOne, FAILED, HANDLED, LEASE_MS, MOST, notified, polled, recorded } from './desk.ts';
import { onEachEngine } from './stages.ts';

onEachEngine('record', (stage) => {
  test('takes a text with NUL and half surrogate pairs, finds it by that, and loses none that come with it', async () => {
    const odd = notified('media:odd', 0, {
      body: 'nul \0 half \ud800 end',
      kind: 'ki\0nd',
      siteId: '\udc00',
    });
    const others = [notified('media:a'), notified('media:b')];
    const answers = await Promise.all([odd, ...others].map((one) => stage.store.queue.record(one)));
    expect(answers.map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted']);
    const [claim] = await claimed(stage.store, 'media:odd');
    expect(claim?.body).toMatch(/^nul . half . end$/su);
    expect(await stage.store.queue.count({ kind: odd.kind })).toBe(1);
  });

  test('refuses one request that no column takes, and records what came with it', async () => {
    const bad = notified('media:bad', 0, { eventTime: 'a time that is none' as never });
    const good = [notified('media:a'), notified('media:b')];
    const [first, refused, last] = await Promise.allSettled(
      [good[0], bad, good[1]].map((one) => stage.store.queue.record(one as VerifiedNotification)),
    );
    const isStrict = stage.isPostgres; // SQLite takes a text in a column of numbers
    expect(first).toMatchObject({ value: { status: 'accepted' } });
    expect(last).toMatchObject({ value: { status: 'accepted' } });
    expect(refused?.status).toBe(isStrict ? 'rejected' : 'fulfilled');
    if (isStrict) expect(await stage.store.queue.event({ id: bad.id })).toBeUndefined();
  });

  test("keeps each channel's state by its newest event, of one time the one received later", async () => {
    const { store } = stage;
    const of = (channel: string, state: string, seconds: number) =>
      notified(`channel:${channel}`, seconds, { kind: `channel_${state}` });
    const list = [of('a', 'active', 9), of('a', 'idle', 8), of('b', 'active', 5), of('b', 'idle', 5)];
    await Promise.all(list.map((one) => store.queue.record(one)));
    await recorded(store, of('c', 'active', 1), of('c', 'idle', 2), notified('media:one', 99));
    expect(await store.reports.channels({ limit: 10 })).toEqual({
      counts: { active: 1, idle: 2 },
      channels: [
        ['channel:a', 'active', list[0]?.id],
        ['channel:b', 'idle', list[3]?.id],
        ['channel:c', 'idle', expect.any(String)],
      ].map(([resource, state, event]) => expect.objectContaining({ resource, state, event })),
    });
    expect((await store.reports.channels({ limit: 1, after: 'channel:a' })).channels).toMatchObject([
      { resource: 'channel:b' },
    ]);
  });
});
onEachEngine('claim', (stage) => {
  test('leases of limited kinds as many as there is room for, the oldest first, and sets the others aside: polls find what is behind', async () => {
    const { store } = stage;
    const tracks = [1, 2, 3, 4].map((n) => notified(`media:track-${n}`, n, { kind: 'track_created' }));
    const others = [notified('media:odd', 5, { kind: 'media_exploded' }), notified('media:one', 6)];
    for (const [at, one] of [...tracks, ...others].entries())
      await store.queue.record(one, stage.clock.now() + at);
    const asking = async (request: Partial<ClaimRequest>, ...rooms: readonly number[]) => {
      const limits = [['unknown'], ['track_created']].map((kinds, at) => ({
        kinds,
        room: rooms[at] ?? 0,
        newest: 0,
      }));
      const claims = await polled(store, { limits, ...request });
      return claims.map(({ resource }) => resource.slice(6)).sort();
    };
    expect(await asking({ oldest: 3 }, 0, 1)).toEqual(['track-1']);
    expect(await asking({ oldest: 2 })).toEqual([]);
    expect(await asking({ oldest: 2 })).toEqual(['one']);
    expect(await asking({ oldest: 9 })).toEqual([]);
    expect(await asking({ oldest: 9 }, 1, 2)).toEqual(['odd', 'track-2', 'track-3']);
    await recorded(store, notified('media:track-4', 0)); // older, and of another kind
    expect(await asking({ oldest: 9 })).toEqual(['track-4']);
  });

  test('leases some of the newest of a limited kind, fresh ones as well as those set aside, and others that are not limited', async () => {
    const { store } = stage;
    const tracks = [1, 2, 3, 4, 5].map((n) => notified(`media:${n}`, n, { kind: 'track_created' }));
    for (const [at, one] of [...tracks, notified('media:6', 6)].entries())
      await store.queue.record(one, stage.clock.now() + at);
    const limits = [{ kinds: ['track_created'], room: 2, newest: 1 }];
    const asked = async () => (await polled(store, { limits, oldest: 9 })).map(({ resource }) => resource);
    expect((await asked()).sort()).toEqual(['media:1', 'media:5', 'media:6']);
    expect((await asked()).sort()).toEqual(['media:2', 'media:4']);
    expect(await asked()).toEqual(['media:3']);
  });

  test('counts the waiting of a lane from the receipt of its ready event, whoever opens it', async () => {
    const { store } = stage;
    await recorded(store, notified('media:old'), notified('media:old', 1));
    const first = stage.clock.now();
    const claim = await claimedOne(store, 'media:old');
    await stage.pass(100);
    await recorded(store, notified('media:new'), notified('media:old', 2));
    await store.queue.settle(claim, FAILED);
    await stage.pass(2000);
    expect(await store.queue.wake()).toEqual(['media:old']);
    const ready = await stage.sql<{ resource: string; ready_at: number }>(
      'SELECT resource, ready_at FROM lanes ORDER BY 1',
    );
    expect(ready).toEqual([
      { resource: 'media:new', ready_at: first + 100 },
      { resource: 'media:old', ready_at: first },
    ]);
    const [woken] = await polled(store, { oldest: 1 });
    expect(woken).toMatchObject({ resource: 'media:old' });
    await store.queue.settle(woken as Claim, HANDLED);
    await store.queue.settle(await claimedOne(store, 'media:old'), HANDLED);
    expect(await stage.sql("SELECT ready_at FROM lanes WHERE resource = 'media:old'")).toEqual([
      { ready_at: first + 100 },
    ]);
  });

  test('decides with the first start whether an event is late: not by what is handled while it waits for a retry, but by what is replayed', async () => {
    const { store } = stage;
    await recorded(store, notified('media:one', 3));
    await store.queue.settle(await claimedOne(store, 'media:one'), FAILED);
    await recorded(store, notified('media:one', 5));
    await store.queue.settle(await claimedOne(store, 'media:one'), HANDLED);
    await stage.pass(2000);
    await store.queue.wake();
    const again = await claimedOne(store, 'media:one');
    expect(again).toMatchObject({ late: false, starts: 2 });
    await store.queue.settle(again, HANDLED);
    await store.queue.replay({ status: 'handled' });
    await recorded(store, notified('media:one', 2));
    expect(await claimedOne(store, 'media:one')).toMatchObject({ replays: 0, late: true });
  });
});

onEachEngine('settle', (stage) => {
  test('refuses one settlement that no column takes, and stores those that came with it', async () => {
    const { store } = stage;
    await recorded(store, ...['a', 'b', 'c'].map((n) => notified(`media:${n}`)));
    const claims = await claimed(store, 'media:a', 'media:b', 'media:c');
    const ends = claims.map((claim) =>
      store.queue.settle(
        claim,
        claim.resource === 'media:b' ? { ...HANDLED, status: null as never } : HANDLED,
      ),
    );
    const answers = await Promise.allSettled(ends);
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await store.queue.count({ status: 'handled' })).toBe(2);
    const starts = await stage.sql('SELECT starts FROM events ORDER BY resource');
    expect(starts).toEqual([{ starts: 1 }, { starts: 0 }, { starts: 1 }]); // what failed together was undone
  });
});

onEachEngine('sweep', (stage) => {
  test('recovers no lease that its process holds, and any other once it has run out', async () => {
    const { store } = stage;
    await recorded(store, notified('media:mine'), notified('media:another'));
    const own = await claimedOne(store, 'media:mine');
    await claimedOne(store, 'media:another');
    await stage.pass(LEASE_MS + 1);
    const { ready } = await store.queue.recover({ ...MOST, held: [own.lease] });
    expect(ready).toEqual(['media:another']);
  });

  test('opens a lane for whatever is ready and has none, in steps, and for nothing else', async () => {
    const { store } = stage;
    const names = Array.from({ length: 1100 }, (_, n) => `media:${n}`);
    await recorded(store, notified('media:waits'));
    await store.queue.settle(await claimedOne(store, 'media:waits'), FAILED);
    await Promise.all([...names, 'media:0', 'media:0'].map((name) => store.queue.record(notified(name))));
    expect(await store.queue.sweep()).toBe(0);
    await stage.sql("DELETE FROM lanes WHERE resource NOT LIKE '%7'");
    expect(await store.queue.sweep()).toBe(990);
    const lanes = await stage.sql<{ resource: string }>('SELECT resource FROM lanes');
    expect(lanes.map(({ resource }) => resource).sort()).toEqual(names.sort());
  });
});
