import { expect, test } from '@jest/globals';
import {
  claimed,
  claimedOne,
  crashed,
  FAILED,
  HANDLED,
  LEASE_MS,
  MOST,
  notified,
  polled,
  recorded,
  statusOf,
} from './desk.ts';
import { onEachEngine } from './stages.ts';

onEachEngine('recover', (stage) => {
  test('leaves what a process holds alone, however long its lease has run out', async () => {
    const { store } = stage;
    await recorded(store, notified());
    const claim = await claimedOne(store, 'media:one');
    await stage.pass(10 * LEASE_MS);
    expect(await store.recover({ ...MOST, held: [claim.lease] })).toEqual({ ready: [], dead: [] });
    expect(await store.settle(claim, HANDLED)).toMatchObject({ isHeld: true });
  });

  test('gives an event up that was lost five times, whatever attempts it has left, until it is replayed', async () => {
    const { store } = stage;
    const [one] = await recorded(store, notified());
    for (let crash = 1; crash <= 5; crash++) {
      await crashed(stage, 'media:one');
      expect(await statusOf(store, one?.id ?? '')).toBe(crash < 5 ? 'pending' : 'dead');
      await store.wake();
    }
    expect(await store.attempts(one?.id ?? '')).toHaveLength(5);
    await store.replay({});
    await crashed(stage, 'media:one');
    expect(await store.event(one?.id ?? '')).toMatchObject({ status: 'pending', attempts: 1 });
  });

  test('lets events that were lost twice run one at a time, and others as ever', async () => {
    const { store } = stage;
    const names = ['media:a', 'media:b', 'media:c'];
    await recorded(store, ...names.map((name) => notified(name)), notified('media:good'));
    for (let crash = 0; crash < 2; crash++) {
      await claimed(store, ...names);
      await stage.pass(LEASE_MS + 1);
      await store.recover(MOST);
    }
    expect((await polled(store)).map(({ resource }) => resource)).toEqual(['media:good']);
    const ran: (string | undefined)[] = [];
    for (let turn = 0; turn < 3; turn++) {
      expect(await store.wake()).toHaveLength(1);
      expect(await store.wake()).toEqual([]); // one is ready
      const [suspect, ...more] = await polled(store);
      expect(more).toEqual([]);
      expect(await store.wake()).toEqual([]); // it runs
      ran.push(suspect?.resource);
      // The first fails, so that it waits; then the next one may run.
      if (suspect) await store.settle(suspect, turn === 0 ? { ...FAILED, afterMs: 60_000 } : HANDLED);
    }
    expect([...ran].sort()).toEqual(names);
    await stage.pass(60_001);
    expect(await store.wake()).toEqual(ran.slice(0, 1));
  });
});

onEachEngine('sweep', (stage) => {
  test('opens a lane for whatever is ready and has none, in steps, and for nothing else', async () => {
    const { store } = stage;
    const names = Array.from({ length: 1100 }, (_, n) => `media:${n}`);
    await Promise.all([...names, 'media:0', 'media:0'].map((name) => store.record(notified(name))));
    await recorded(store, notified('media:waits'));
    await store.settle(await claimedOne(store, 'media:waits'), FAILED);
    expect(await store.sweep()).toBe(0);
    await stage.sql("DELETE FROM lanes WHERE resource NOT LIKE '%7'");
    expect(await store.sweep()).toBe(990);
    const lanes = await stage.sql<{ resource: string }>('SELECT resource FROM lanes');
    expect(lanes.map(({ resource }) => resource).sort()).toEqual(names.sort());
  });
});
