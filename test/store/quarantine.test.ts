import { expect, test } from '@jest/globals';
import type { ToQuarantine } from '../../src/store/event-store.ts';
import { notified } from './desk.ts';
import { onEachEngine } from './stages.ts';

const ROOM = 400_000;
const [SOURCE, OTHER_SOURCE] = ['203.0.113.7', '198.51.100.1'];

/** An entry of some 1,000 bytes. */
function unproven(name: string, more: Partial<ToQuarantine> = {}): ToQuarantine {
  const event = notified(`media:${name}`);
  return { ...event, body: 'b'.repeat(400), token: name.padEnd(400, '.'), source: SOURCE, ...more };
}

onEachEngine('quarantine', (stage) => {
  test('keeps an entry once, with how often it came, and tells of what waits', async () => {
    const { store, clock } = stage;
    const one = unproven('one');
    expect(await store.quarantine(one, ROOM)).toBe(0);
    expect(await store.quarantine(one, ROOM)).toBe(0);
    await store.quarantine(unproven('two', { webhookId: 'webhook2' }), ROOM);
    const [first, second, ...more] = await store.quarantined();
    expect(more).toEqual([]);
    expect(first).toMatchObject({ ...one, deliveries: 2, receivedAt: clock.now() });
    expect(await store.quarantined({ after: first?.seq })).toEqual([second]);
    expect(await store.quarantined({ webhook: 'webhook1', limit: 5 })).toEqual([first]);
    expect([await store.quarantineSize(), await store.quarantineSize('webhook2')]).toEqual([2, 1]);
    expect(await store.waitingWebhooks()).toMatchObject([
      { webhookId: 'webhook1', notifications: 1, firstAt: clock.now(), lastAt: clock.now() },
      { webhookId: 'webhook2' },
    ]);
    const summary = await store.quarantineSummary(1);
    expect(summary).toMatchObject({ total: 2, webhooks: [{}, {}], newest: [{ webhookId: 'webhook2' }] });
    expect(JSON.stringify(summary)).not.toContain('two...');
    expect((await store.overview()).quarantined).toBe(2);
  });

  test('takes room from the network that has most, the newest first, and says how many go', async () => {
    const store = await stage.another();
    const other = unproven('genuine', { source: OTHER_SOURCE, webhookId: 'webhook2' });
    await store.quarantine(other, ROOM);
    // One sender with many addresses and webhooks.
    const flood = Array.from({ length: 600 }, (_, n) =>
      unproven(`f${n}`, { source: `203.0.113.${n % 200}`, webhookId: `w${n}` }),
    );
    let lost = 0;
    for (let at = 0; at < flood.length; at += 100) {
      const kept = await Promise.all(flood.slice(at, at + 100).map((one) => store.quarantine(one, ROOM)));
      for (const one of kept) lost += one;
    }
    const size = await store.quarantineSize();
    expect(lost).toBe(601 - size);
    const [sum] = await stage.sql<{ bytes: number }>('SELECT sum(bytes) AS bytes FROM quarantine');
    expect(Number(sum?.bytes)).toBeLessThan(ROOM * 1.1);
    expect(Number(sum?.bytes)).toBeGreaterThan(ROOM * 0.85);
    expect(await store.quarantined({ webhook: 'webhook2' })).toHaveLength(1);
    expect(await store.quarantined({ webhook: 'w0' })).toHaveLength(1); // the oldest stay
  });

  test('takes room from the webhook that has most, when its entries come from many networks', async () => {
    const store = await stage.another();
    for (let n = 0; n < 5; n++) await store.quarantine(unproven(`g${n}`, { webhookId: 'rare' }), 100_000);
    for (let n = 0; n < 130; n++)
      await store.quarantine(
        unproven(`f${n}`, { source: `2001:db8:0:${n}00::1`, webhookId: 'much' }),
        100_000,
      );
    expect(await store.quarantineSize('rare')).toBe(5);
    expect(await store.quarantineSize('much')).toBeLessThan(110);
  });

  test('admits an entry to the events with all its deliveries, once, and tells listeners', async () => {
    const { store } = stage;
    const one = unproven('one');
    const told: string[] = [];
    store.onRecorded = (resource) => void told.push(resource);
    for (let n = 0; n < 3; n++) await store.quarantine(one, ROOM);
    const other = await stage.another();
    const answers = await Promise.all([store.admit(one.token), other.admit(one.token)]);
    expect(answers.filter(Boolean)).toEqual([{ status: 'accepted', id: one.id }]);
    expect(await store.event(one.id)).toMatchObject({ deliveries: 3, body: one.body, status: 'pending' });
    expect([await store.quarantineSize(), await store.admit(one.token)]).toEqual([0, undefined]);
    expect(told.length).toBeLessThanOrEqual(1);
  });

  test('loses what is dropped, of one webhook or up to a time, and nothing else', async () => {
    const { store, clock } = stage;
    const keep = async (token: string, webhookId: string) =>
      store.quarantine({ ...notified(`media:${token}`), webhookId, token, source: '203.0.113.7' }, ROOM);
    await keep('one', 'webhook1');
    await keep('two', 'webhook2');
    await clock.advance(1000);
    const before = clock.now();
    await keep('three', 'webhook1');
    expect(await store.dropQuarantined(before + 1, 'webhook2')).toBe(1);
    expect(await store.dropQuarantined(before)).toBe(1);
    expect(await store.quarantined()).toMatchObject([{ token: 'three' }]);
  });
});
