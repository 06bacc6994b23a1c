import { expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { claimed, claimedOne, FAILED, HANDLED, notified, polled, recorded } from './desk.ts';
import { onEachEngine } from './stages.ts';

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

onEachEngine('state', (stage) => {
  test('of all media or channels comes in stretches, in order, each value once', async () => {
    const { store } = stage;
    const names = Array.from({ length: 3 }, (_, n) => `media:${n}`);
    await recorded(store, ...names.map((name) => notified(name)), notified('channel:x'));
    const many = Array.from({ length: 250 }, (_, n) => ({
      name: `n${String(n).padStart(3, '0')}`,
      value: String(n),
    }));
    for (const claim of await polled(store)) await store.queue.settle(claim, { ...HANDLED, state: many });
    const first = await store.queue.states({ of: 'media' });
    const second = await store.queue.states({ of: 'media', after: first.at(-1) });
    const found = [...first, ...second].map((one) => `${one.resource} ${one.name}`);
    expect(found).toEqual(names.flatMap((resource) => many.map(({ name }) => `${resource} ${name}`)));
    expect([first.length, second.length]).toEqual([500, 250]);
    expect(await store.queue.states({ of: 'media', after: second.at(-1) })).toEqual([]);
    expect((await store.queue.states({ of: 'channel' }))[7]).toEqual({
      resource: 'channel:x',
      name: 'n007',
      value: '7',
    });
  });
});

onEachEngine('sweep', (stage) => {
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

const SECRET = 'a-secret-that-nobody-else-may-read';

const live = async (store: EventStore) =>
  (await store.secrets.live()).map(({ webhookId, secret }) => [webhookId, secret]);

onEachEngine('secrets', (stage) => {
  test('open only in their own row: one that was put in place of another opens nothing', async () => {
    const { store } = stage;
    await store.secrets.add('webhook1', SECRET);
    await store.secrets.add('webhook2', 'of-somebody-else');
    await stage.sql(
      "UPDATE secrets SET sealed = (SELECT s.sealed FROM secrets s WHERE s.webhook_id = 'webhook2') WHERE webhook_id = 'webhook1'",
    );
    expect(await live(store)).toEqual([['webhook2', 'of-somebody-else']]);
    await stage.sql("UPDATE secrets SET webhook_id = 'webhook3' WHERE webhook_id = 'webhook2'");
    expect(await live(store)).toEqual([]);
    await stage.sql("UPDATE secrets SET webhook_id = 'webhook2' WHERE webhook_id = 'webhook3'");
    expect(await live(store)).toHaveLength(1);
    await store.secrets.retire('webhook2', 'of-somebody-else', 1);
    await stage.sql('UPDATE secrets SET retire_at = NULL');
    expect(await live(store)).toEqual([]);
  });
});
