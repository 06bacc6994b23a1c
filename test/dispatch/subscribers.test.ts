import { expect, test } from '@jest/globals';
import { HeldHandler } from '../support/held-handler.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';
import { eachWithStage, LEASE_MS } from './stage.ts';

const stage = eachWithStage();
const PATIENT = { HANDLER_TIMEOUT_MS: String(100 * LEASE_MS) };

test('subscribers have places and limits of their own: one that hangs or throws holds up no other, and each is told whose event it is', async () => {
  const { record, start, pass, store, event } = stage();
  const [held, seen] = [new HeldHandler(), [] as string[]];
  const note = (_: unknown, { id, subscriber }: { id: string; subscriber: string }) =>
    void seen.push(`${subscriber || 'main'} ${id}`);
  const subscribers = {
    search: { handlers: { media_available: held.handle } },
    mail: { handlers: { media_available: () => Promise.reject(new Error('no')) } },
    digest: { handlers: { media_available: note, media_updated: held.handle }, limits: { media_updated: 1 } },
  };
  const settings = { ...PATIENT, DISPATCH_CONCURRENCY: '2' };
  const { dispatcher } = await start({ media_available: note }, settings, { subscribers });
  const ids = await Promise.all(['1', '2', '3', '4'].map((media_id) => record({ media_id })));
  for (const media_id of ['a', 'b']) await record({ event: 'media_updated', media_id });
  dispatcher.came();
  await pass(400);
  expect(seen.sort()).toEqual(ids.flatMap((id) => [`digest ${id}@digest`, `main ${id}`]).sort());
  expect(held.running.map(({ ctx }) => ctx.subscriber).sort()).toEqual(['digest', 'search', 'search']);
  expect(await store.queue.count({ subscriber: 'mail', status: 'pending' })).toBe(4);
  expect(await event(`${ids[0]}@mail`)).toMatchObject({ status: 'pending', attempts: 1 });
});

test.each([
  ['is given back, as another one has it', 'media_available@search', 'pending', 'and new has one'],
  ['is skipped, as others have it for other events', 'media_available', 'skipped', 'no handler for'],
])('an event of a subscriber without its handler here %s', async (_, kind, status, lastError) => {
  const { clock, store, record, start, pass, event } = stage();
  const startedAt = clock.now();
  const instance = { name: 'new', version: '1.0.0', startedAt, running: 0, kinds: [kind] };
  await store.reports.report({ instance, stats: [], refusals: [] });
  await store.queue.subscribe({ subscriber: 'search', kinds: ['media_available'] });
  const id = await record();
  await start(
    {},
    { INSTANCE_NAME: 'old' },
    { subscribers: { search: { handlers: { media_updated() {} } } } },
  );
  await pass(1000);
  const ended = await event(`${id}@search`);
  expect(ended).toMatchObject({ status, attempts: status === 'skipped' ? 1 : 0 });
  expect(ended.lastError).toContain(lastError);
});

test('an event of a kind that subscribers alone handle is skipped with their names, and one that nobody handles as ever', async () => {
  const { record, start, pass, event } = stage();
  const handlers = { media_available() {}, unknown() {} };
  const subscribers = { search: { handlers }, mail: { handlers: { media_available() {} } } };
  await start({ media_deleted() {} }, {}, { subscribers });
  const ids = [await record()];
  for (const kind of ['media_exploded', 'media_updated']) ids.push(await record({ event: kind }));
  await pass(3000);
  const ends = await Promise.all(ids.map(event));
  expect(ends.map(({ status, lastError }) => [status, lastError])).toEqual([
    ['skipped', 'it is handled by subscriber search, mail'],
    ['skipped', 'it is handled by subscriber search'],
    ['skipped', 'no handler for media_updated'],
  ]);
  expect(await event(`${ids[1]}@search`)).toMatchObject({ status: 'handled' });
});

test('an event that was lost twice gives way after a minute, when it waits for the place of a limit and others are ready', async () => {
  const { record, start, pass, event } = stage();
  const hangs = { media_available: new HeldHandler().handle, media_updated: new HeldHandler().handle };
  const limited = await record({ media_id: 'limited' });
  const other = await record({ event: 'media_updated', media_id: 'other', at: EVENT_TIME + 1000 });
  for (let crash = 0; crash < 2; crash++) {
    const { kill } = await start(hangs, PATIENT);
    await pass(2 * LEASE_MS);
    kill();
  }
  const held = new HeldHandler();
  await start({ media_available: held.handle, media_updated() {} }, PATIENT, {
    limits: { media_available: 1 },
  });
  await record({ media_id: 'long' });
  await pass(4 * LEASE_MS + 90_000);
  expect(held.runs).toHaveLength(1);
  expect(await event(limited)).toMatchObject({ status: 'pending', starts: 2 });
  expect(await event(other)).toMatchObject({ status: 'handled' });
  held.last.end();
});
