import { expect, test } from '@jest/globals';
import { lastOf, nextOf } from '../../src/base/schedule.ts';
import type { HandlerContext, Reminder } from '../../src/dispatch/handler.ts';
import { eachWithStage } from './stage.ts';

const stage = eachWithStage();
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** Schedules of one name each, whose ticks note their time, and how much later they began. */
function noting(times: object) {
  const ticks: string[] = [];
  const waits: number[] = [];
  const run = async ({ due_at }: Reminder, ctx: HandlerContext) => {
    ticks.push(due_at.slice(11, 16));
    waits.push(ctx.now() - Date.parse(due_at));
  };
  return { app: { schedule: { digest: { run, ...times } } } as object, ticks, waits };
}

test.each([
  ['0 6 * * *', '2026-03-29', ['06:00']],
  ['30 2 * * *', '2026-03-29', ['03:00']], // there is no half past two
  ['*/20 1-4 * * *', '2026-03-29', '01:00 01:20 01:40 03:00 03:20 03:40 04:00 04:20 04:40'.split(' ')],
  ['0 6 * * *', '2026-10-25', ['06:00']],
  ['30 2 * * *', '2026-10-25', ['02:30']], // and there are two
  [
    '*/20 1-3 * * *',
    '2026-10-25',
    '01:00 01:20 01:40 02:00 02:20 02:40 02:00 02:20 02:40 03:00 03:20 03:40'.split(' '),
  ],
])('%s in Berlin comes at each of its times once, on the %s, when the clocks change', (cron, day, times) => {
  const spec = { cron, zone: 'Europe/Berlin' };
  const end = Date.parse(`${day}T22:00Z`);
  const came: number[] = [];
  for (let at = Date.parse(`${day}T00:00+02:00`); ; came.push(at)) {
    at = nextOf(spec, at) ?? end;
    if (at >= end) break;
  }
  const told = new Intl.DateTimeFormat('de', { timeZone: spec.zone, hour: '2-digit', minute: '2-digit' });
  expect(came.map((at) => told.format(at))).toEqual(times);
  for (let at = came[0] ?? 0; at < end; at += 10 * MINUTE)
    expect(lastOf(spec, at)).toBe(came.findLast((time) => time <= at)); // the last one, if it stood still until then
});

test('of the ticks that a standstill or a pause held up, the last one runs, at its own time', async () => {
  const { start, pass, store, stop } = stage();
  const { app, ticks } = noting({ cron: '*/30 * * * *', zone: 'Europe/Berlin' });
  const { dispatcher } = await start({}, {}, app);
  await pass(HOUR + 3000);
  await stop(dispatcher);
  await pass(5 * HOUR);
  await start({}, {}, app);
  await pass(3000);
  expect(ticks).toEqual(['00:30', '01:00', '06:00']);
  await store.queue.pause({ reason: 'a test', by: 'me' });
  await pass(2 * HOUR);
  expect(ticks).toHaveLength(3);
  await store.queue.resume();
  await pass(3000);
  expect(ticks.slice(3)).toEqual(['08:00']);
  const { events } = await store.queue.search({ filter: { status: 'skipped' }, limit: 9 });
  expect(events.map(({ lastError }) => lastError)).toEqual(Array(3).fill('superseded'));
});

test('the times are those of the process that started last: one that has others makes no tick', async () => {
  const { start, pass } = stage();
  const { app, ticks } = noting({ every: '10m' });
  const former = await start({}, {}, app);
  await pass(25 * MINUTE);
  const last = await start({}, {}, noting({ every: '1h' }).app);
  await pass(20 * MINUTE);
  last.kill();
  await pass(2 * HOUR);
  expect(ticks).toEqual(['00:10', '00:20']);
  former.kill();
  await start({}, {}, app);
  await pass(HOUR);
  expect(ticks.slice(2)).toEqual(['02:50', '03:00', '03:10', '03:20', '03:30', '03:40']);
});

test('a tick begins within two seconds, whatever waits', async () => {
  const { start, pass, record, clock, store } = stage();
  for (let n = 0; n < 300; n++) await record({ media_id: `media-${n}` });
  let run = 0;
  const slowly = () => new Promise<void>((resolve) => clock.after(600 + 37 * (run++ % 20), resolve));
  const { app, ticks, waits } = noting({ every: '7s' });
  await pass(333);
  await start({ media_available: slowly }, { DISPATCH_CONCURRENCY: '4' }, app);
  await pass(MINUTE);
  expect(await store.queue.count({ kind: 'media_available', status: 'pending' })).toBeGreaterThan(0);
  expect(ticks).toHaveLength(8);
  expect(Math.max(...waits)).toBeLessThan(2000);
});

test('a tick has a time of its own to end in, and fails as any event', async () => {
  const { start, pass, store, outcomes } = stage();
  const run = (_: Reminder, { signal }: HandlerContext) =>
    new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  await start({}, {}, { schedule: { hanging: { every: '1m', timeoutMs: 500, run } } });
  await pass(MINUTE + 5000);
  const { events } = await store.queue.search({ limit: 9 });
  expect(events).toMatchObject([{ lastError: 'the handler took longer than 500 ms' }]);
  expect(await outcomes(events[0]?.id ?? '')).toEqual(['timeout', 'timeout']);
});
