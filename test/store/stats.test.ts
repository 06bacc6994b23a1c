import { expect, test } from '@jest/globals';
import type { Stat } from '../../src/store/event-store.ts';
import { NOON } from './desk.ts';
import { onEachEngine } from './stages.ts';

const DAY_MS = 86_400_000;
const one = { minute: NOON, instance: 'a', kind: 'media_created', result: 'accepted' };
const stat = (count: number, ms: number, slowest: number, more: Partial<Stat> = {}): Stat => ({
  ...one,
  count,
  ms,
  slowest,
  ...more,
});

onEachEngine('statistics', (stage) => {
  test('of several processes and times add up, when they are read by minute and by kind', async () => {
    const { store } = stage;
    const other = await stage.another();
    await store.addStats([stat(2, 3.5, 2.5), stat(1, 9, 9, { result: 'handled' })]);
    await Promise.all([
      store.addStats([stat(1, 0.5, 0.5)]),
      other.addStats([stat(4, 10, 7, { instance: 'b' })]),
      other.addStats([stat(8, 1, 1, { instance: 'b', minute: NOON + 60_000, kind: 'media_updated' })]),
    ]);
    const sums = await store.stats(NOON, 'minute');
    expect(sums.toSorted((x, y) => x.count - y.count)).toEqual([
      { name: NOON, result: 'handled', count: 1, ms: 9, slowest: 9 },
      { name: NOON, result: 'accepted', count: 7, ms: 14, slowest: 7 },
      { name: NOON + 60_000, result: 'accepted', count: 8, ms: 1, slowest: 1 },
    ]);
    expect(await other.stats(NOON + 60_000, 'kind')).toEqual([
      { name: 'media_updated', result: 'accepted', count: 8, ms: 1, slowest: 1 },
    ]);
  });

  test('are kept for eight days, when more are added', async () => {
    const { store, clock } = stage;
    const ago = (days: number) => clock.now() - days * DAY_MS;
    await store.addStats([stat(1, 1, 1, { minute: ago(8) - 1 }), stat(1, 1, 1, { minute: ago(7) })]);
    expect(await store.stats(0, 'minute')).toMatchObject([{ name: ago(7) }]);
  });
});
