import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { databaseForEachTest } from '../support/engine.ts';
import { size } from '../support/sizes.ts';
import { genuineLoad, rssOf, startLoaded } from './load.ts';
import { makeManyEvents } from './many-events.ts';

const database = databaseForEachTest();
const BURST = 20_000;
const CONNECTIONS = size({ small: 400, full: 1000 });
const BACKLOG = size({ small: 200_000, full: 1_000_000 });
/** A third of what the backlog would take in memory. At this rate of handling, V8 takes some 100 of them for garbage. */
const MOST_MIB = 450;

test(`a burst of ${BURST} notifications over ${CONNECTIONS} connections at once is answered to the last, each acknowledged or refused with 503, none lost, a third handled by then, and all after it`, async () => {
  const service = await startLoaded({ ...database().env, MAX_WAITING_ACKS: '200' });
  const store = await database().open();
  const load = { requests: BURST, connections: CONNECTIONS };
  const { statuses, ids: answered } = await genuineLoad(service.url, load);
  const meanwhile = await store.queue.count({ status: 'handled' });
  const recorded = await store.queue.count({});
  while ((await store.queue.count({ status: 'handled' })) < recorded) await sleep(50);
  process.stdout.write(
    `burst of ${BURST}: ${JSON.stringify(statuses)}, ${meanwhile} handled by then, RSS ${rssOf(service)} MiB\n`,
  );
  const { 200: acknowledged = 0, 503: refused = 0 } = statuses;
  expect(meanwhile).toBeGreaterThanOrEqual(acknowledged / 3); // however hard acks press
  expect(acknowledged + refused).toBe(BURST);
  expect(acknowledged).toBeGreaterThan(0);
  // What was refused was not recorded.
  expect([answered.length, recorded]).toEqual([acknowledged, acknowledged]);
  const found = await Promise.all(answered.map((id) => store.queue.event({ id })));
  expect(found.filter((event) => event === undefined)).toEqual([]);
  await service.stop();
}, 300_000);

test(`a backlog of ${BACKLOG} pending events is worked off in less than ${MOST_MIB} MiB, while new notifications are acknowledged`, async () => {
  const path = join(database().directory, 'receiver.db');
  await makeManyEvents({ path, events: BACKLOG, status: 'pending' });
  const service = await startLoaded(database().env);
  const store = await database().open();
  const samples: number[] = [];
  for (let round = 0; round < 10; round++) {
    const { statuses } = await genuineLoad(service.url, { requests: 1000, connections: 8 });
    expect(statuses).toEqual({ 200: 1000 });
    samples.push(rssOf(service));
  }
  const handled = await store.queue.count({ status: 'handled' });
  process.stdout.write(`backlog of ${BACKLOG}: ${handled} handled, RSS in MiB ${samples.join(' ')}\n`);
  expect(Math.max(...samples)).toBeLessThan(MOST_MIB);
  expect(handled).toBeGreaterThan(1000);
}, 600_000);
