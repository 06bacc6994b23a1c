import { expect, test } from '@jest/globals';
import type { Claim, EventStore, ReminderChange, Settlement } from '../../src/store/event-store.ts';
import { present } from '../support/only.ts';
import { claimedOne, FAILED, HANDLED, notified, polled, recorded, SEARCH } from './desk.ts';
import { onEachEngine } from './stages.ts';

const LATER: ReminderChange = { name: 'close', afterMs: 60_000, data: '{"n":1}' };
const leaving = (...reminders: ReminderChange[]): Settlement => ({ ...HANDLED, reminders });

/** Records an event of a media, and settles it with reminders. */
async function set(store: EventStore, resource: string, ...reminders: ReminderChange[]): Promise<Claim> {
  await recorded(store, notified(resource));
  const claim = await claimedOne(store, resource);
  await store.queue.settle(claim, leaving(...reminders));
  return claim;
}

const due = async (store: EventStore) => {
  await store.queue.comeDue({});
  return (await polled(store)).map(({ body, ...claim }) => ({ ...claim, body: JSON.parse(body) }));
};

onEachEngine('reminders', (stage) => {
  test('a reminder becomes an event of its media once, when it is due, and not before', async () => {
    const { store } = stage;
    const other = await stage.another();
    const setter = await set(store, 'media:one', LATER);
    await set(store, 'media:two', LATER);
    expect([await due(store), (await store.queue.work()).isReminder]).toEqual([[], 0]);
    await stage.pass(60_001);
    expect((await store.queue.work()).isReminder).toBe(1);
    const [one, two] = [...(await due(other)), ...(await due(store))];
    const body = { event: 'reminder', media_id: 'one', name: 'close', data: { n: 1 } };
    const times = { set_at: expect.any(String), due_at: expect.any(String) };
    expect(one).toMatchObject({
      resource: 'media:one',
      kind: 'reminder',
      origin: 'reminder',
      siteId: setter.siteId,
    });
    expect(one?.body).toEqual({ ...body, ...times });
    expect(two?.id).not.toBe(one?.id);
    expect(await due(store)).toEqual([]);
  });

  test('one of each name: set again, it is moved; forgotten, it does not come; a failed run changes nothing of it', async () => {
    const { store } = stage;
    await set(store, 'media:one', LATER, { ...LATER, name: 'other' });
    const again = await set(store, 'media:one', { name: 'close', afterMs: 120_000, data: 'null' });
    expect(again.reminders).toEqual(['close', 'other']);
    await set(store, 'media:one', { name: 'other' });
    await stage.pass(60_001);
    expect(await due(store)).toEqual([]);
    await stage.pass(60_001);
    expect((await due(store)).map(({ body }) => body.data)).toEqual([null]);
  });

  test('what a reminder has become ends when it is forgotten or moved, under a pause or while it waits for a retry', async () => {
    const { store } = stage;
    await set(store, 'media:one', LATER, { name: 'other', afterMs: 60_001, data: 'null' });
    await stage.pass(60_002);
    const [first] = await due(store);
    await store.queue.settle(present(first) as never, FAILED);
    const [second] = await polled(store);
    await store.queue.settle(present(second), HANDLED);
    await set(store, 'media:one', { name: 'close' });
    const { status, lastError } = present(await store.queue.event({ id: present(first).id }));
    expect([status, lastError]).toEqual(['skipped', 'forgotten']);
    expect(await store.queue.event({ id: present(second).id })).toMatchObject({ status: 'handled' });
  });

  test('dismissing an event forgets what it set, and removing a subscriber what was set for it', async () => {
    const { store } = stage;
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] });
    const { id } = await set(store, 'media:one', LATER);
    await store.queue.replay({ ids: [id] });
    await store.queue.dismiss({ ids: [id] }, 'no');
    await store.queue.wake(SEARCH);
    for (const claim of await polled(store, SEARCH)) await store.queue.settle(claim, leaving(LATER));
    await store.queue.removeSubscriber('search');
    expect(await stage.sql('SELECT * FROM reminders')).toEqual([]);
  });

  test('a schedule comes at its times, once; of those missed, the last; what waits of it is superseded', async () => {
    const { store } = stage;
    const other = await stage.another();
    const list = [{ resource: 'schedule:digest', data: '{"every":3600000}' }];
    await store.queue.schedule({ list });
    await other.queue.schedule({ list: [{ resource: 'schedule:rest', data: '{"every":3600000}' }] });
    await other.queue.schedule({ list });
    const ticks = async (one: EventStore) => one.queue.comeDue({ schedules: list });
    expect(await ticks(store)).toEqual([]);
    await stage.pass(3_600_000);
    expect([...(await ticks(store)), ...(await ticks(other))]).toEqual(['schedule:digest']);
    await stage.pass(9_000_000);
    if (stage.isPostgres) await stage.sql("UPDATE events SET id = 'earlier'"); // as its own clock stands still
    expect(await ticks(other)).toEqual(['schedule:digest']);
    const [tick, ...rest] = await polled(store);
    expect(rest).toEqual([]);
    expect(tick).toMatchObject({ kind: 'schedule:digest', origin: 'schedule', resource: 'schedule:digest' });
    const { events } = await store.queue.search({
      filter: { resource: 'schedule:digest' },
      stretch: { limit: 9 },
    });
    expect(events.map(({ status, lastError }) => [status, lastError])).toEqual([
      ['running', undefined],
      ['skipped', 'superseded'],
    ]);
    await store.queue.schedule({ list: [{ resource: 'schedule:digest', data: '{"every":60000}' }] });
    await stage.pass(9_000_000);
    expect(await ticks(store)).toEqual([]); // another spec than this process has
  });

  test('what comes due is no sign that something comes in, and nothing that a subscriber has yet to get', async () => {
    const { store } = stage;
    await set(store, 'media:one', LATER);
    await store.queue.subscribe({ ...SEARCH, kinds: ['media_available'] });
    const before = await store.reports.newestOfWebhooks();
    await stage.pass(60_001);
    expect(await due(store)).toHaveLength(1);
    expect(await store.reports.newestOfWebhooks()).toEqual(before);
    expect((await store.reports.overview()).subscribers.search).toMatchObject({ oldestPendingAt: undefined });
  });
});
