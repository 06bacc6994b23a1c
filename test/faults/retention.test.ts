import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { eventually } from '../support/eventually.ts';
import { bodyOf, deliver } from '../support/notifications.ts';
import { size } from '../support/sizes.ts';
import { genuineLoad, line, type Seen, together } from './load.ts';
import { makeManyEvents } from './many-events.ts';
import { FaultStage } from './service.ts';

const stage = new FaultStage();
const EVENTS = size({ small: 100_000, full: 5_000_000 });
const ROUNDS = size({ small: 1, full: 3 });
const REQUESTS = 1500;
const OLD = 50;
/** A step of the pruning that goes on without pauses. */
const STEP = 2000;

function inDatabase<T>(path: string, use: (db: Database.Database) => T): T {
  const db = new Database(path, { timeout: 60_000 });
  try {
    return use(db);
  } finally {
    db.close();
  }
}

/** The old ones were all handled before then. */
const BEFORE = Date.UTC(2020, 0, 1) + EVENTS * 1000 + 61_000;

/** How many of the old ones still have what retention takes away. */
const unpruned = (path: string) =>
  inDatabase(path, (db) =>
    db
      .prepare<[], number>(
        `SELECT count(*) FROM events WHERE ended_at < ${BEFORE} AND ended_at IS NOT NULL AND body IS NOT NULL`,
      )
      .pluck()
      .get(),
  ) ?? 0;

test(`pruning ${EVENTS} events lets acks through all the time, and an old notification that comes again is still a duplicate`, async () => {
  const { path } = stage;
  await makeManyEvents({ path, events: EVENTS, status: 'handled' });
  const store = await stage.open();
  const first = await stage.start();
  const old = Array.from({ length: OLD }, (_, number) => bodyOf(9_000_000 + number));
  for (const body of old) expect((await deliver(first.url, body)).status).toBe(200);
  await eventually(
    'they are handled',
    async () => (await store.count({ status: 'handled' })) === EVENTS + OLD,
  );
  await first.stop();
  inDatabase(path, (db) =>
    db.exec(`UPDATE events SET handled_at = 1, ended_at = 1 WHERE event_time > ${Date.UTC(2025, 0, 1)}`),
  );

  const without: Seen[] = [];
  const during: Seen[] = [];
  const before = unpruned(path);
  for (let round = 0; round < ROUNDS; round++) {
    const keeps = await stage.start();
    await genuineLoad({ url: keeps.url, requests: 300 });
    without.push(await genuineLoad({ url: keeps.url, requests: REQUESTS }));
    await keeps.stop();
    const prunes = await stage.start({ RETENTION_DAYS: '1' });
    await genuineLoad({ url: prunes.url, requests: 300 });
    during.push(await genuineLoad({ url: prunes.url, requests: REQUESTS }));
    await prunes.stop();
  }
  const inSteps = before - unpruned(path);

  // The rest without pauses, by another process, while the service goes on.
  const service = await stage.start();
  const began = performance.now();
  let [pruned, isOver] = [0, false];
  const pruning = (async () => {
    for (let last = STEP; last === STEP; pruned += last) last = await store.prune(BEFORE, STEP);
    isOver = true;
  })();
  const beside: Seen[] = [];
  while (!isOver) beside.push(await genuineLoad({ url: service.url, requests: 200 }));
  await pruning;
  const seconds = Math.round((performance.now() - began) / 1000);
  process.stdout.write(
    `${line('acks without pruning', together(without))}\n` +
      `${line(`acks while ${inSteps} are pruned in its steps`, together(during))}\n` +
      `${line(`acks while another process prunes ${pruned} in ${seconds} s without pauses`, together(beside))}\n`,
  );
  expect(Object.keys(together([...without, ...during]).statuses)).toEqual(['200']);
  expect(inSteps).toBeGreaterThan(1000);
  expect(inSteps + pruned).toBe(before);
  expect(unpruned(path)).toBe(0);

  const again = await Promise.all(old.map(async (body) => (await deliver(service.url, body)).json()));
  expect(again).toEqual(again.map(() => expect.objectContaining({ status: 'duplicate' })));
  expect(await store.count({})).toBeGreaterThanOrEqual(EVENTS + OLD);
}, 1_800_000);
