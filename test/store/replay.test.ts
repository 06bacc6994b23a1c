import { expect, test } from '@jest/globals';
import { claimed, claimedOne, HANDLED, handledInTurn, notified, recorded } from './desk.ts';
import { onEachEngine } from './stages.ts';

const HOUR_MS = 3_600_000;

onEachEngine('replay', (stage) => {
  test('leaves an event out that a handler runs, and says how many', async () => {
    const { store } = stage;
    await recorded(store, notified('media:one', 1), notified('media:one', 2));
    await store.settle(await claimedOne(store, 'media:one'), HANDLED);
    const claim = await claimedOne(store, 'media:one');
    expect(await store.replay({ resource: 'media:one' })).toEqual({ events: 1, running: 1 });
    expect(await claimed(store, 'media:one')).toEqual([]);
    expect(await store.settle(claim, HANDLED)).toEqual({ isHeld: true, hasMore: true });
    expect(await store.event(claim.id)).toMatchObject({ status: 'handled', replays: 0 });
  });

  test('holds all events until the last is reset, then releases them in the order of their times', async () => {
    const { store } = stage;
    const list = Array.from({ length: 520 }, (_, n) => notified('media:one', 1000 - n));
    await Promise.all(list.map((one) => store.record(one)));
    await stage.sql("UPDATE events SET status = 'handled', handled_at = 1, ended_at = 1");
    await stage.sql('DELETE FROM lanes');
    const ready: number[] = [];
    const readyNow = async () => {
      const [row] = await stage.sql<{ n: number }>(
        'SELECT count(*) AS n FROM events WHERE next_at IS NULL AND ended_at IS NULL',
      );
      ready.push(Number(row?.n));
    };
    const steps: number[] = [];
    const onStep = async (ids: readonly string[]) => {
      steps.push(ids.length);
      await readyNow();
    };
    await store.replay({}, { onStep, onReady: readyNow });
    expect([steps, ready]).toEqual([
      [500, 20],
      [0, 0, 500, 520],
    ]);
    expect(await claimedOne(store, 'media:one')).toMatchObject({ id: list.at(-1)?.id, late: false });
  });

  test('makes what it has reset ready, when it is interrupted', async () => {
    const { store } = stage;
    const list = Array.from({ length: 510 }, (_, n) => notified(`media:${n}`));
    await Promise.all(list.map((one) => store.record(one)));
    await stage.sql("UPDATE events SET status = 'skipped', ended_at = 1");
    const stop = new AbortController();
    const onStep = () => stop.abort();
    expect(await store.replay({}, { onStep, signal: stop.signal })).toMatchObject({ events: 500 });
    const byPlace = await stage.sql<{ id: string }>(
      "SELECT id FROM events WHERE status = 'pending' ORDER BY seq",
    );
    expect(byPlace).toHaveLength(500);
  });

  test('is finished by another process within an hour, when its own ended in between', async () => {
    const { store } = stage;
    await recorded(store, notified());
    await handledInTurn(store, 'media:one');
    // As if its process ended here: it finds nothing to release.
    const onStep = async () => void (await stage.sql('UPDATE events SET next_at = next_at + 1'));
    await store.replay({}, { onStep });
    expect(await store.overview()).toMatchObject({ waiting: 1 });
    await stage.pass(HOUR_MS + 61_000);
    expect(await store.wake()).toEqual(['media:one']);
  });
});

onEachEngine('prune', (stage) => {
  test('empties what ended before a time, but for dead events, and keeps identities', async () => {
    const { store } = stage;
    const ends = ['handled', 'skipped', 'dead', 'handled'] as const;
    const list = await recorded(
      store,
      ...ends.map((_, n) => notified(`media:${n}`)),
      notified('media:ready'),
    );
    for (const [n, status] of ends.entries()) {
      const claim = await claimedOne(store, `media:${n}`);
      await store.saveStep(claim, { name: 'mail', result: '1' });
      await store.settle(claim, { ...HANDLED, status, startedAt: 1000 * n, ms: 0 });
    }
    await stage.sql(`UPDATE events SET status = 'dismissed', ended_at = 1 WHERE resource = 'media:ready'`);
    expect([await store.prune(3000, 2), await store.prune(3000, 2), await store.prune(3000, 2)]).toEqual([
      2, 1, 0,
    ]);
    const [handled, , dead, kept] = await Promise.all(list.map(({ id }) => store.event(id)));
    expect([handled?.body, dead?.body, kept?.body]).toEqual([undefined, list[2]?.body, list[3]?.body]);
    expect(handled).toMatchObject({ status: 'handled', resource: 'media:0' });
    expect([await store.attempts(list[0]?.id ?? ''), await store.steps(list[0]?.id ?? '')]).toEqual([[], []]);
    expect(await store.steps(list[3]?.id ?? '')).toHaveLength(1);
    expect(await store.record(notified('media:0', 0, { ...list[0] }))).toMatchObject({ status: 'duplicate' });
    expect(await store.replay({})).toMatchObject({ events: 2 });
  });
});
