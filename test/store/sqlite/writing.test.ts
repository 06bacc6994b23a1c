import { copyFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { claimOne, claims, HANDLED, LEASE_MS } from '../../support/claiming.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

/** A page and its frame header in the write-ahead log. */
const FRAME_BYTES = 2048 + 24;

const clock = new VirtualClock();
let directory: string;
let path: string;
let store: SqliteStore;

/** Gives every test of a block a store. */
function eachWithStore(threads = true): void {
  beforeEach(async () => {
    directory = await temporaryDirectory();
    path = join(directory, 'receiver.db');
    store = await SqliteStore.open({ path, clock, threads });
  });

  afterEach(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });
}

/** Holds the lock for writing as another process would; the function returned lets it go. */
function holdWriteLock(): () => void {
  const db = new Database(path);
  db.exec('BEGIN IMMEDIATE');
  return () => {
    db.exec('COMMIT');
    db.close();
  };
}

function recordMedia(number: number) {
  return store.record(verified({ media_id: `media-${number}` }));
}

describe('while another process writes', () => {
  eachWithStore();

  test('writes wait, when the lock is held, and go through once it is released', async () => {
    const before = await recordMedia(1);
    const letGo = holdWriteLock();
    let ended = 0;
    const writes = [recordMedia(2), store.addSecret('webhook-1', 'secret'), store.ping()];
    for (const write of writes) write.finally(() => ended++);
    for (let round = 0; round < 20; round++) await store.event(before.id);
    expect(ended).toBe(0);
    letGo();
    await Promise.all(writes);
    expect(await store.count({})).toBe(2);
  });

  test('queries go on, when the lock is held, with what was committed before', async () => {
    const { id } = await recordMedia(1);
    const letGo = holdWriteLock();
    const waits = recordMedia(2);
    expect(await store.event(id)).toMatchObject({ id });
    expect(await store.count({})).toBe(1);
    expect(await store.events({}, { limit: 10 })).toHaveLength(1);
    expect(await store.attempts(id)).toEqual([]);
    expect(await store.quarantined()).toEqual([]);
    letGo();
    await waits;
  });
});

describe('a batch', () => {
  eachWithStore();

  test('commits the others, when one call in it fails, each once and with its own answer', async () => {
    const known = await recordMedia(0);
    const claim = await claimOne(store);
    const letGo = holdWriteLock(); // what comes from the second call on gathers into one batch
    const first = recordMedia(1);
    const calls = [
      recordMedia(2),
      store.record({ ...verified(), kind: null as unknown as string }),
      recordMedia(3),
      store.saveStep(claim, 'one', { name: 'announce', result: '1' }),
      recordMedia(3),
    ];
    letGo();
    await first;
    const answers = await Promise.allSettled(calls);
    expect(answers).toMatchObject([
      { value: { status: 'accepted' } },
      { reason: { code: 'STORE_UNAVAILABLE' } },
      { value: { status: 'accepted' } },
      { status: 'fulfilled' },
      { value: { status: 'duplicate' } },
    ]);
    expect((await store.events({}, { limit: 10 })).map(({ deliveries }) => deliveries)).toEqual([2, 1, 1, 1]);
    expect(await store.step(known.id, 'announce')).toEqual({ result: '1' });
  });

  test('commits the others, when one call was given what no thread can take, which fails alone', async () => {
    const { id } = await recordMedia(0);
    const claim = await claimOne(store);
    const notData = (() => {}) as unknown as string;
    const calls = [
      recordMedia(1),
      store.saveStep(claim, 'one', { name: notData, result: '1' }),
      store.step(id, notData),
      recordMedia(2),
    ];
    expect(await Promise.allSettled(calls)).toMatchObject([
      { value: { status: 'accepted' } },
      { reason: expect.objectContaining({ message: expect.stringMatching(/^saveStep got a value/) }) },
      { reason: { code: 'VALUE_UNSTORABLE' } },
      { value: { status: 'accepted' } },
    ]);
    // Alone in its batch, with a close that waits for it.
    const alone = expect(store.step(id, notData)).rejects.toThrow('step got a value');
    const closed = store.close();
    await alone;
    await closed;
    store = await SqliteStore.open({ path, clock });
    expect(await store.count({})).toBe(3);
  });

  test('is one commit, when hundreds of calls come at once, so that they share its cost', async () => {
    const numbers = Array.from({ length: 500 }, (_, number) => number);
    const walBefore = statSync(`${path}-wal`).size;
    await Promise.all(numbers.map(recordMedia));
    // A commit of its own writes at least one page for each call; shared, many events fit on a page.
    expect(statSync(`${path}-wal`).size - walBefore).toBeLessThan(numbers.length * FRAME_BYTES);
  });

  test('lets acks through, when a long replay is under way, before it ends', async () => {
    await Promise.all(Array.from({ length: 1600 }, (_, number) => recordMedia(number)));
    const all = await claims(store, { limit: 2000 });
    await Promise.all(all.map((claim) => store.settle(claim, 'one', HANDLED)));
    const order: string[] = [];
    let ack: Promise<unknown> | undefined;
    const onStep = () => {
      ack ??= recordMedia(9999).then(() => order.push('acknowledged'));
    };
    await store.replay({}, { onStep }).then(() => order.push('replayed'));
    await ack;
    expect(order).toEqual(['acknowledged', 'replayed']);
  });
});

describe('an acknowledged notification', () => {
  eachWithStore();

  test('is in the files, when they are copied under the running store, as after a crash', async () => {
    const recorded = await Promise.all(Array.from({ length: 40 }, (_, number) => recordMedia(number)));
    const [running] = await claims(store, { limit: 1 });
    await store.addSecret('webhook-1', 'secret');
    const copy = await temporaryDirectory();
    for (const name of readdirSync(directory)) {
      if (!name.endsWith('-shm')) copyFileSync(join(directory, name), join(copy, name));
    }
    const after = await SqliteStore.open({ path: join(copy, 'receiver.db'), clock, threads: OWN_THREADS });
    const found = await Promise.all(recorded.map(({ id }) => after.event(id)));
    expect(found.filter((event) => event === undefined)).toEqual([]);
    expect((await after.events({ status: 'running' }, { limit: 10 })).map(({ id }) => id)).toEqual([
      running?.id,
    ]);
    expect(await after.secrets()).toMatchObject([{ secret: 'secret' }]);
    await after.close();
    rmSync(copy, { recursive: true });
  });
});

describe('a database that was changed by hand', () => {
  eachWithStore(OWN_THREADS);

  const change = (...statements: string[]): void => {
    const db = new Database(path);
    for (const sql of statements) db.exec(sql);
    db.close();
  };
  const [fromLedger, fromWork] = ['ledger', 'work'].map(
    (table) => `DELETE FROM ${table} WHERE resource = 'media:media-1'`,
  );

  test('goes on with the event, when one that ran is gone and its lease has run out', async () => {
    await recordMedia(1);
    await claimOne(store);
    change(fromWork ?? '');
    await recordMedia(2);
    await clock.advance(LEASE_MS);
    expect(await claims(store)).toMatchObject([{ resource: 'media:media-2' }]);
    await store.record(verified({ media_id: 'media-1', at: EVENT_TIME + 9000 }));
    expect(await claims(store)).toMatchObject([{ resource: 'media:media-1' }]);
  });

  test.each([
    ['all of it', [fromLedger, fromWork]],
    ['what was received', [fromLedger]],
    ['what is to be done', [fromWork]],
  ])('goes on with the other events, when of one that was ready %s is gone', async (_what, statements) => {
    await recordMedia(1);
    await recordMedia(2);
    await claims(store, { limit: 0 }); // takes both into work
    change(...statements.map(String), "DELETE FROM ledger WHERE resource = 'media:media-1'");
    expect(await claims(store)).toMatchObject([{ resource: 'media:media-2' }]);
    await recordMedia(1);
    expect(await claims(store)).toMatchObject([{ resource: 'media:media-1' }]);
  });
});

describe('a store without threads', () => {
  eachWithStore(false);

  test('the clock of the store is that of the file system, whatever clock the process has', async () => {
    const own = { now: () => 5, after: () => () => {} };
    const there = await SqliteStore.open({ path, clock: own, threads: false });
    const before = Date.now();
    const { now, newestAt } = await there.clock();
    expect(newestAt).toBeUndefined();
    expect(Math.abs(now - before)).toBeLessThan(60_000);
    await there.record(verified(), 7);
    expect((await there.clock()).newestAt).toBe(7);
    await there.close();
  });
});
