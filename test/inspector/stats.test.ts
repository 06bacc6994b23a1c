import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { type TestDatabase, testDatabase } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { notification } from '../support/genuine.ts';
import { type Inspected, inspectedForEachTest } from '../support/inspected-service.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const inspect = inspectedForEachTest();
let directory: string;
let database: TestDatabase;
beforeAll(async () => {
  directory = await temporaryDirectory();
  database = await testDatabase(directory);
});
afterAll(async () => {
  await database.remove();
});

/** What a process says of all. */
async function told({ api }: Inspected) {
  const { last_10_minutes: recent, figures, last_day: day } = await api('/stats');
  const { accepted, duplicate, rejected } = recent;
  const kinds = day.map((of: Record<string, unknown>) => [of.kind, of.accepted, of.duplicate]);
  return { recent: { accepted, duplicate, rejected }, hour: figures.accepted, kinds };
}

const clock = new VirtualClock(Date.now() - (Date.now() % 60_000) + 1000);

/** Lets time pass until something is done. */
async function passing(work: Promise<unknown>): Promise<void> {
  let isDone = false;
  const done = work.finally(() => {
    isDone = true;
  });
  while (!isDone) {
    void clock.advance(1); // what a timer begins may wait for another one
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
}

test('statistics are of all processes, survive a restart, and a kill takes what was counted in ten seconds at most', async () => {
  const start = () => inspect({}, { ...database.env }, { clock });
  const first = await start();
  await passing(first.deliver(notification({ media_id: 'one' })));
  await passing(first.deliver(notification({ media_id: 'one' })));
  await fetch(`http://127.0.0.1:${first.service.port}/webhooks/media`, { method: 'POST' });
  expect((await told(first)).kinds).toEqual([['media_available', 1, 1]]); // before they are stored
  await passing(clock.advance(10_000));

  const second = await start();
  await eventually('they are stored', async () => (await told(second)).recent.accepted === 1);
  await passing(first.deliver(notification({ media_id: 'two' }))); // a kill of the first process may lose the count of this
  await passing(second.deliver(notification({ event: 'made_up' })));
  const { accepted, ...others } = (await told(second)).recent;
  expect(accepted).toBeGreaterThanOrEqual(2);
  expect(others).toEqual({ duplicate: 1, rejected: 1 });
  expect((await second.api('/events')).events).toHaveLength(3);

  await passing(first.service.stop());
  await passing(second.service.stop());
  await passing(clock.advance(60_000));
  const third = await start();
  expect(await told(third)).toEqual({
    recent: { accepted: 3, duplicate: 1, rejected: 1 },
    hour: 3,
    kinds: [
      ['media_available', 2, 1],
      ['unknown', 1, 0],
    ],
  });
  const { times, backlog, ...rates } = await third.api('/series?span=day');
  expect([times.length, times[1] - times[0], Math.max(...rates.accepted) > 0]).toEqual([96, 900, true]);
  expect([backlog[0], backlog.some((pending: number | null) => pending !== null)]).toEqual([null, true]);
  await passing(third.service.stop());
});
