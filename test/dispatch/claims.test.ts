import { expect, test } from '@jest/globals';
import type { EventStore } from '../../src/store/event-store.ts';
import { HANDLED, settleAll, waiting } from '../support/claiming.ts';
import { HeldHandler } from '../support/held-handler.ts';
import { EVENT_TIME } from '../support/verified-notification.ts';
import { eachWithStage, LEASE_MS } from './stage.ts';

const stage = eachWithStage();

test('an event that another process recorded is handled within a second, and one that waits within two', async () => {
  const { record, start, pass, event } = stage();
  await start({ media_available() {} });
  const id = await record();
  await pass(1000);
  expect(await event(id)).toMatchObject({ status: 'handled', attempts: 1, starts: 1 });
  await pass(60_000); // nothing comes for a while
  const later = await record({ media_id: 'later' });
  await pass(2000);
  expect(await event(later)).toMatchObject({ status: 'handled' });
});

test('an event that this process recorded is handled within 25 milliseconds, by one claim with those that came beside it', async () => {
  const { record, start, pass, event } = stage();
  const { dispatcher, intercept } = await start({ media_available() {} });
  await pass(100);
  let asked = 0;
  intercept('claim', () => void asked++);
  const ids = [];
  for (const media_id of ['a', 'b', 'c']) {
    ids.push(await record({ media_id }));
    dispatcher.came();
  }
  await pass(25);
  for (const id of ids) expect(await event(id)).toMatchObject({ status: 'handled' });
  expect(asked).toBe(1);
});

test('events of one media run one at a time and oldest first, whatever their order of arrival and however many processes there are', async () => {
  const { record, start, pass } = stage();
  const order: string[] = [];
  let running = 0;
  let most = 0;
  const handlers = {
    async media_available(event: { event_time: string }, { signal }: { signal: AbortSignal }) {
      most = Math.max(most, ++running);
      order.push(event.event_time);
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
      running--;
    },
  };
  const times = [5, 2, 8, 1, 9, 3, 7, 4, 6].map((second) => EVENT_TIME + second * 1000);
  for (const at of times) await record({ at });
  for (let process = 0; process < 3; process++) await start(handlers);
  await pass(10_000);
  expect(most).toBe(1);
  expect(order).toEqual(times.toSorted().map((time) => new Date(time).toISOString()));
});

test('nothing is leased ahead: a process leases as many events as it has handlers free, and a crash takes no others along', async () => {
  const { store, record, start, pass, outcomes } = stage();
  const ids = [];
  for (let media = 0; media < 10; media++) ids.push(await record({ media_id: `media-${media}` }));
  const held = new HeldHandler();
  const { kill } = await start({ media_available: held.handle }, { DISPATCH_CONCURRENCY: '3' });
  await pass(2000);
  expect((await store.reports.overview()).running).toBe(3);
  held.last.end();
  await pass(100);
  expect(held.runs).toHaveLength(4);
  expect((await store.reports.overview()).running).toBe(3);
  kill();
  await start({ media_available() {} });
  await pass(2 * LEASE_MS);
  const all = await Promise.all(ids.map(outcomes));
  expect(all.filter((outcomes) => outcomes.includes('lost'))).toHaveLength(3);
  expect(all.every((outcomes) => outcomes.at(-1) === 'handled')).toBe(true);
});

/** Makes of recorded events a backlog of another sort. */
const backlogs: Readonly<Record<string, (store: EventStore) => Promise<unknown>>> = {
  'events that came before': async () => {},
  'a bulk replay': async (store) => {
    await settleAll(store, HANDLED);
    await store.queue.replay({});
  },
  'a wave of retries': (store) => settleAll(store, waiting(1)),
};

const sorts = Object.keys(backlogs);
test.each(sorts)('a new event is handled within about a second behind %s', async (backlog) => {
  const { clock, store, record, start, pass, event } = stage();
  for (let media = 0; media < 400; media++) {
    await record({ media_id: `old-${media}` });
    await clock.advance(1);
  }
  await backlogs[backlog]?.(store);
  await clock.advance(60_000);
  const ended: string[] = [];
  const media_available = async ({ media_id }: { media_id: string }) => {
    await new Promise((resolve) => clock.after(200, () => resolve(undefined)));
    ended.push(media_id);
  };
  const { dispatcher } = await start({ media_available }, { DISPATCH_CONCURRENCY: '4' });
  await pass(1000);
  for (let media = 0; media < 5; media++) {
    const media_id = `new-${media}`;
    const id = await record({ media_id });
    dispatcher.came();
    await pass(1000);
    expect(await event(id)).toMatchObject({ status: 'handled' });
  }
  const newest = ended.slice(0, 100).filter((id) => /^old-[23]\d\d$/.test(id));
  expect(ended.length).toBeGreaterThan(100); // 4 handlers, 5 a second each
  expect(newest.length).toBeGreaterThan(15);
  expect(newest.length).toBeLessThanOrEqual(25);
  expect(ended.slice(0, 4)).toContain('old-0');
});

test('every fourth event is the newest, when one handler is free at a time and there is a backlog', async () => {
  const { clock, record, start, quiet } = stage();
  for (let media = 0; media < 8; media++) {
    await record({ media_id: String(media) });
    await clock.advance(1);
  }
  const ran: string[] = [];
  await start({ media_available: ({ media_id }) => void ran.push(media_id) }, { DISPATCH_CONCURRENCY: '1' });
  await quiet();
  expect(ran.join(' ')).toBe('0 1 2 7 3 4 5 6');
});
