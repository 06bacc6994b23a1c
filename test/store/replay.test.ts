import { expect, test } from '@jest/globals';
import {
  claimed,
  claimedOne,
  FAILED,
  HANDLED,
  handledInTurn,
  notified,
  polled,
  recorded,
  statusOf,
} from './desk.ts';
import { onEachEngine } from './stages.ts';

const HOUR_MS = 3_600_000;

onEachEngine('replay', (stage) => {
  test('has ended and waiting events run again as if they never had, and counts them', async () => {
    const { store } = stage;
    const [one, two] = await recorded(
      store,
      notified('media:one'),
      notified('media:two'),
      notified('media:ready'),
    );
    await handledInTurn(store, 'media:one', () => ({ ...HANDLED, status: 'dead', error: 'no' }));
    await store.settle(await claimedOne(store, 'media:two'), FAILED);
    expect(await store.replay({})).toEqual({ replayed: 2, running: 0 });
    for (const event of [one, two])
      expect(await store.event(event?.id ?? '')).toMatchObject({
        ...{
          status: 'pending',
          starts: 0,
          attempts: 0,
          replays: 1,
          nextAttemptAt: undefined,
          lastError: undefined,
        },
        ...{ handledAt: undefined, late: undefined },
      });
    expect((await polled(store)).map(({ resource, replays }) => `${resource} ${replays}`).sort()).toEqual([
      ...['media:one 1', 'media:ready 0', 'media:two 1'],
    ]);
    expect(await store.attempts(one?.id ?? '')).toMatchObject([{ replay: 0, outcome: 'handled' }]);
  });

  test('leaves an event out that a handler runs, and says how many', async () => {
    const { store } = stage;
    await recorded(store, notified('media:one', 1), notified('media:one', 2));
    await store.settle(await claimedOne(store, 'media:one'), HANDLED);
    const claim = await claimedOne(store, 'media:one');
    expect(await store.replay({ resource: 'media:one' })).toEqual({ replayed: 1, running: 1 });
    expect(await claimed(store, 'media:one')).toEqual([]);
    expect(await store.settle(claim, HANDLED)).toEqual({ isHeld: true, hasMore: true });
    expect(await store.event(claim.id)).toMatchObject({ status: 'handled', replays: 0 });
  });

  test('replays nothing for a filter of running events, although they end meanwhile', async () => {
    const { store } = stage;
    await recorded(store, notified('media:one'));
    const claim = await claimedOne(store, 'media:one');
    const replaying = store.replay({ status: 'running' });
    await store.settle(claim, HANDLED);
    expect((await replaying).replayed).toBe(0);
    expect(await statusOf(store, claim.id)).toBe('handled');
  });

  test('looks at the status again when it resets, since an event may have changed', async () => {
    const { store } = stage;
    const other = await stage.another();
    const list = Array.from({ length: 510 }, (_, n) => notified(`media:${n}`));
    await Promise.all(list.map((one) => store.record(one)));
    await Promise.all(
      (await polled(store, { oldest: 510 })).map((one) => store.settle(one, { ...HANDLED, status: 'dead' })),
    );
    const [last] = await stage.sql<{ id: string }>('SELECT id FROM events ORDER BY seq DESC LIMIT 1');
    let isFirst = true;
    const onStep = async () => {
      // After the first step, a replay by another process gives one of the second to a handler, which skips it.
      if (!isFirst) return;
      isFirst = false;
      await other.replay({ ids: [last?.id ?? ''] });
      const event = await other.event(last?.id ?? '');
      await handledInTurn(other, event?.resource ?? '', () => ({
        ...HANDLED,
        status: 'skipped',
        outcome: 'skipped',
      }));
    };
    expect(await store.replay({ status: 'dead' }, { onStep })).toEqual({ replayed: 509, running: 0 });
    expect(await store.event(last?.id ?? '')).toMatchObject({ status: 'skipped', replays: 1 });
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

  test('makes what it has reset ready, when it is interrupted, and can go on from there', async () => {
    const { store } = stage;
    const list = Array.from({ length: 1100 }, (_, n) => notified(`media:${n}`));
    await Promise.all(list.map((one) => store.record(one)));
    await stage.sql("UPDATE events SET status = 'skipped', ended_at = 1");
    const stop = new AbortController();
    const onStep = () => stop.abort();
    expect(await store.replay({}, { onStep, signal: stop.signal })).toMatchObject({ replayed: 500 });
    const byPlace = await stage.sql<{ id: string }>(
      "SELECT id FROM events WHERE status = 'pending' ORDER BY seq",
    );
    expect(byPlace).toHaveLength(500);
    expect(await store.replay({}, { after: byPlace.at(-1)?.id })).toMatchObject({ replayed: 600 });
    expect(await store.count({ status: 'pending' })).toBe(1100);
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

  test('keeps the results of steps, unless they are to be forgotten', async () => {
    const { store } = stage;
    const [one] = await recorded(store, notified());
    const claim = await claimedOne(store, 'media:one');
    await store.saveStep(claim, { name: 'mail', result: '1' });
    await store.settle(claim, HANDLED);
    await store.replay({});
    const again = await claimedOne(store, 'media:one');
    expect(await store.step(again, 'mail')).toEqual({ result: '1' });
    await store.settle(again, HANDLED);
    await store.replay({}, { resetSteps: true });
    expect(await store.steps(one?.id ?? '')).toEqual([]);
  });

  test('runs an event once, when two replays take it at the same time', async () => {
    const { store } = stage;
    const other = await stage.another();
    const list = Array.from({ length: 20 }, (_, n) => notified(`media:${n % 4}`, n));
    await recorded(store, ...list);
    for (let n = 0; n < 4; n++) await handledInTurn(store, `media:${n}`);
    const told = await Promise.all([
      store.replay({}),
      other.replay({}),
      store.replay({ resource: 'media:1' }),
    ]);
    expect(told.reduce((sum, { replayed }) => sum + replayed, 0)).toBeGreaterThanOrEqual(20);
    expect(await store.count({ status: 'pending' })).toBe(20);
    for (let n = 0; n < 4; n++) expect(await handledInTurn(store, `media:${n}`)).toHaveLength(5);
    expect(await store.overview()).toMatchObject({ pending: 0, waiting: 0 });
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
    expect(await store.prune(3000, 100)).toBe(3);
    expect(await store.prune(3000, 100)).toBe(0);
    const [handled, , dead, kept] = await Promise.all(list.map(({ id }) => store.event(id)));
    expect([handled?.body, dead?.body, kept?.body]).toEqual([undefined, list[2]?.body, list[3]?.body]);
    expect(handled).toMatchObject({ status: 'handled', resource: 'media:0' });
    expect([await store.attempts(list[0]?.id ?? ''), await store.steps(list[0]?.id ?? '')]).toEqual([[], []]);
    expect(await store.steps(list[3]?.id ?? '')).toHaveLength(1);
    expect(await store.record(notified('media:0', 0, { ...list[0] }))).toMatchObject({ status: 'duplicate' });
    expect(await store.replay({})).toMatchObject({ replayed: 2 });
  });
});
