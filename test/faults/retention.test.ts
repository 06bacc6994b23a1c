import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { size } from '../support/sizes.ts';
import { genuineLoad } from './load.ts';
import { makeManyEvents } from './many-events.ts';
import { FaultStage } from './service.ts';

const stage = new FaultStage();
const EVENTS = size({ small: 100_000, full: 5_000_000 });
const REQUESTS = 1600;
/** A step of the pruning that goes on without pauses. */
const STEP = 2000;
/** The old ones were all handled before then. */
const BEFORE = Date.UTC(2020, 0, 1) + EVENTS * 1000 + 61_000;

function inDatabase<T>(use: (db: Database.Database) => T): T {
  const db = new Database(stage.path, { timeout: 60_000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** How many of the old ones still have what retention takes away. */
const unpruned = () =>
  inDatabase((db) =>
    db
      .prepare<[], number>(`SELECT count(*) FROM events WHERE ended_at < ${BEFORE} AND body IS NOT NULL`)
      .pluck()
      .get(),
  ) ?? 0;

test(`pruning ${EVENTS} events lets acks through all the time, and an old notification that comes again is still a duplicate`, async () => {
  await makeManyEvents({ path: stage.path, events: EVENTS, status: 'handled' });
  const store = await stage.open();
  const first = await stage.start();
  const old = Array.from({ length: 50 }, (_, number) => bodyOf(9_000_000 + number));
  for (const body of old) expect((await deliver(first.url, body)).status).toBe(200);
  await eventually(
    'they are handled',
    async () => (await store.count({ status: 'handled' })) === EVENTS + old.length,
  );
  await first.stop();
  inDatabase((db) =>
    db.exec(`UPDATE events SET handled_at = 1, ended_at = 1 WHERE event_time > ${Date.UTC(2025, 0, 1)}`),
  );

  const before = unpruned();
  const prunes = await stage.start({ RETENTION_DAYS: '1' });
  const during = await genuineLoad(prunes.url, REQUESTS, 'acks while the service prunes in its steps');
  await prunes.stop();
  const inSteps = before - unpruned();
  expect(during).toEqual({ 200: REQUESTS });
  expect(inSteps).toBeGreaterThan(1000);

  // The rest without pauses, by another process, while the service goes on.
  const service = await stage.start();
  let [pruned, isOver] = [0, false];
  const pruning = (async () => {
    for (let last = STEP; last === STEP; pruned += last) last = await store.prune(BEFORE, STEP);
    isOver = true;
  })();
  while (!isOver) {
    const beside = await genuineLoad(service.url, 200, 'acks while another process prunes without pauses');
    expect(beside).toEqual({ 200: 200 });
  }
  await pruning;
  expect([inSteps + pruned, unpruned()]).toEqual([before, 0]);
  for (const body of old)
    expect(await (await deliver(service.url, body)).json()).toMatchObject({ status: 'duplicate' });
  expect(await store.count({})).toBeGreaterThanOrEqual(EVENTS + old.length);
}, 1_800_000);
