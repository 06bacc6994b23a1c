import { expect, test } from '@jest/globals';
import type { EventStore, ToQuarantine } from '../../src/store/event-store.ts';
import { notified } from './desk.ts';
import { onEachEngine } from './stages.ts';

const SECRET = 'a secret of a webhook of ours';
const ROOM = 400_000;
const [SOURCE, OTHER_SOURCE] = ['203.0.113.7', '198.51.100.1'];

/** An entry of some 1,000 bytes. */
function unproven(name: string, more: Partial<ToQuarantine> = {}): ToQuarantine {
  const event = notified(`media:${name}`);
  return { ...event, body: 'b'.repeat(400), token: name.padEnd(400, '.'), source: SOURCE, ...more };
}

onEachEngine('quarantine', (stage) => {
  test('takes room from the network that has most, the newest first, and says how many go', async () => {
    const store = await stage.another();
    const other = unproven('genuine', { source: OTHER_SOURCE, webhookId: 'webhook2' });
    // One sender with many addresses and webhooks.
    const flood = Array.from({ length: 600 }, (_, n) =>
      unproven(`f${n}`, { source: `203.0.113.${n % 200}`, webhookId: `w${n}` }),
    );
    let lost = 0;
    for (let at = 0; at < flood.length; at += 100) {
      if (at === 300) await store.quarantine.add(other, ROOM);
      const kept = await Promise.all(flood.slice(at, at + 100).map((one) => store.quarantine.add(one, ROOM)));
      for (const one of kept) lost += one;
    }
    const size = await store.quarantine.size();
    expect(lost).toBe(601 - size);
    const [sum] = await stage.sql<{ bytes: number }>('SELECT sum(bytes) AS bytes FROM quarantine');
    expect(Number(sum?.bytes)).toBeLessThan(ROOM * 1.1);
    expect(Number(sum?.bytes)).toBeGreaterThan(ROOM * 0.85);
    expect(await store.quarantine.entries({ webhook: 'webhook2' })).toHaveLength(1);
    expect(await store.quarantine.entries({ webhook: 'w0' })).toHaveLength(1); // the oldest stay
  });

  test('takes room from the webhook that has most, when its entries come from many networks', async () => {
    const store = await stage.another();
    for (let n = 0; n < 5; n++) await store.quarantine.add(unproven(`g${n}`, { webhookId: 'rare' }), 100_000);
    for (let n = 0; n < 130; n++)
      await store.quarantine.add(
        unproven(`f${n}`, { source: `2001:db8:0:${n}00::1`, webhookId: 'much' }),
        100_000,
      );
    expect(await store.quarantine.size({ webhook: 'rare' })).toBe(5);
    expect(await store.quarantine.size({ webhook: 'much' })).toBeLessThan(110);
  });

  /** Keeps entries, each from a network and for a webhook of its own. */
  const flood = async (store: EventStore, name: string, count: number, more: Partial<ToQuarantine> = {}) => {
    for (let n = 0; n < count; n++) {
      const own = { source: `2001:db8:${n.toString(16)}::1`, webhookId: `${name}${n}` };
      await store.quarantine.add(unproven(`${name}${n}`, { ...own, ...more }), 100_000);
    }
  };

  test('takes room from the newest of all, when no network or webhook has a twentieth', async () => {
    const store = await stage.another();
    await flood(store, 'few', 3, { source: SOURCE, webhookId: 'few' });
    await flood(store, 'old', 80);
    await flood(store, 'new', 200);
    const kept = (await store.quarantine.entries()).map(({ token }) => token.replaceAll('.', ''));
    expect(kept.slice(0, 83).filter((name) => name.startsWith('new'))).toEqual([]);
    expect(kept.length).toBeLessThan(105);
  });

  test('leaves a tenth of the room to webhooks that have a secret, retired ones too, and beyond it they give way as others', async () => {
    const store = await stage.another();
    for (const own of ['own', 'retired']) await store.secrets.add(own, SECRET);
    await store.secrets.retire('retired', SECRET, 0);
    await flood(store, 'before', 92);
    for (const own of ['own', 'retired']) await flood(store, own, 4, { webhookId: own });
    const sizes = async () => [
      await store.quarantine.size({ webhook: 'own' }),
      await store.quarantine.size({ webhook: 'retired' }),
    ];
    await flood(store, 'after', 100);
    expect(await sizes()).toEqual([4, 4]);
    await flood(store, 'forged', 200, { webhookId: 'own' });
    const [own = 0] = await sizes();
    expect(own).toBeLessThan(30);
    expect(own).toBeGreaterThanOrEqual(5);
  });

  test('records acks, while room is made in many steps, before all of it is made', async () => {
    const store = await stage.another();
    await stage.sql(`INSERT INTO quarantine
      (digest, id, kind, webhook_id, site_id, resource, event_time, received_at, body, token, source, network, bytes)
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 6000)
      SELECT 'd' || n, 'i', 'k', 'w' || n, 's', 'r', 1, 1, 'b', 't' || n, '::1', 'n' || n, 1000 FROM numbers`);
    let isMade = false;
    const kept = store.quarantine.add(unproven('one'), 1_000_000).finally(() => {
      isMade = true;
    });
    const sizes: number[] = [];
    while (!isMade) {
      await store.queue.record(notified(`media:${sizes.length}`));
      sizes.push(await store.quarantine.size());
    }
    expect(await kept).toBeGreaterThan(5000);
    const last = await store.quarantine.size();
    expect(sizes.filter((size) => size < 6000 && size > last)).not.toEqual([]);
  });
});
