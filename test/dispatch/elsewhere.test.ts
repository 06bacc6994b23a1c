import { expect, test } from '@jest/globals';
import { retry } from '../../src/dispatch/outcome.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';
import { away, eachWithStage, LEASE_MS } from './stage.ts';

const stage = eachWithStage();
const MINUTE_MS = 60_000;
const own = { INSTANCE_NAME: 'old' };

/** Has another instance say that it lives and has a handler, every ten seconds for so long. */
async function live(ms: number, kinds: readonly string[] = ['media_available']): Promise<void> {
  const { clock, store, pass } = stage();
  for (const end = clock.now() + ms; ; await pass(10_000)) {
    const instance = { name: 'new', version: '1.0.0', startedAt: 0, running: 64, kinds };
    await store.reports.report({ instance, stats: [], refusals: [] });
    if (clock.now() >= end) return;
  }
}

test('an event whose handler another living instance alone has is handled there, uses up no attempt, and is late if a newer one was handled meanwhile', async () => {
  const { record, start, pass, event, outcomes } = stage();
  await live(0);
  await start({ media_updated() {} }, own);
  const first = await record();
  const second = await record({ event: 'media_updated', at: EVENT_TIME + 1000 });
  await pass(9000);
  expect(await event(second)).toMatchObject({ status: 'handled', late: false });
  const lastError = 'old has no handler for media_available, and new has one';
  expect(await event(first)).toMatchObject({ status: 'pending', attempts: 0, lastError });
  const late: boolean[] = [];
  const { kill } = await start(
    { media_available: (_, ctx) => void late.push(ctx.late) },
    { INSTANCE_NAME: 'new' },
  );
  for (let turn = 0; (await event(first)).status === 'pending' && turn < 20; turn++) await live(10_000);
  expect(await event(first)).toMatchObject({ status: 'handled', attempts: 1, lastError: undefined });
  expect((await outcomes(first)).slice(0, 1)).toEqual(['elsewhere']);
  expect(late).toEqual([true]);
  kill();
});

test('no event misses the one instance with its handler for ten minutes, when five others poll at the same pace', async () => {
  const { store, record, start, pass } = stage();
  await live(0);
  await start({}, own);
  await pass(548);
  await start({ media_available() {} }, { INSTANCE_NAME: 'new' });
  for (let others = 0; others < 4; others++) await start({}, own);
  for (let media = 0; media < 10; media++, await pass(1332)) await record({ media_id: `media-${media}` });
  while ((await store.queue.count({ status: 'pending' })) > 0) await live(10_000);
  expect(await store.queue.count({ status: 'handled' })).toBe(10);
});

test.each([
  ['no instance has its handler', {}, ['media_updated'], 'skipped'],
  ['a later kit knows its kind', { event: 'media_exploded' }, ['media_exploded'], 'pending'],
])('an event is given back only for one that can take it, when %s', async (_, members, kinds, status) => {
  const { record, start, event } = stage();
  await live(0, kinds);
  const id = await record(members);
  await start({}, own);
  expect(await event(id)).toMatchObject({ status });
});

test('an event that the other instance does not take is skipped after ten minutes, whatever it asked for before, and again after a replay', async () => {
  const { store, record, start, event, outcomes } = stage();
  const id = await record();
  const handler = { media_available: () => retry({ after: 9 * MINUTE_MS, reason: 'not yet' }) };
  (await start(handler, { INSTANCE_NAME: 'new' })).kill(); // as if it hung: it says that it lives, and takes nothing
  await start({}, own);
  await live(18.5 * MINUTE_MS);
  expect(await event(id)).toMatchObject({ status: 'pending', attempts: 0 });
  await live(2 * MINUTE_MS);
  const skipped = { status: 'skipped', attempts: 1, lastError: 'no handler for media_available' };
  expect(await event(id)).toMatchObject(skipped);
  expect(new Set(await outcomes(id))).toEqual(new Set(['retry', 'elsewhere', 'skipped']));
  await store.queue.replay({});
  await live(9 * MINUTE_MS);
  expect(await event(id)).toMatchObject({ status: 'pending' });
  await live(2 * MINUTE_MS);
  expect(await event(id)).toMatchObject(skipped);
});

test('an event is skipped once the other instance has gone, and was not seen for 30 seconds', async () => {
  const { record, start, pass, event } = stage();
  await live(0);
  const id = await record();
  await start({}, own);
  await pass(25_000);
  expect(await event(id)).toMatchObject({ status: 'pending' });
  await pass(20_000);
  expect(await event(id)).toMatchObject({ status: 'skipped' });
});

test('an event is not skipped, when the store does not say who has its handler: it is asked again, and after a stop another process does', async () => {
  const { record, start, pass, stop, event, logged } = stage();
  await live(0);
  const first = await start({}, own);
  first.intercept('attempts', away);
  const id = await record();
  await pass(5000);
  expect(await event(id)).toMatchObject({ status: 'running' });
  expect(logged('the store does not answer; trying again')).toMatchObject([{ cannot: 'look for a handler' }]);
  await expect(stop(first.dispatcher)).rejects.toThrow('results that could not be stored');
  await start({ media_available() {} });
  await pass(2 * LEASE_MS);
  expect(await event(id)).toMatchObject({ status: 'handled' });
});
