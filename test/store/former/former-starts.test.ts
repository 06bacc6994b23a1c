import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { claims, HANDLED, LEASE_MS, waiting } from '../../support/claiming.ts';
import { firstVersion, recordFormerly } from '../../support/first-version.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const clock = new VirtualClock();
let directory: string;
let path: string;
let db: Database.Database;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  db = firstVersion(path, Buffer.alloc(32, 1), []).db;
});

afterEach(() => rmSync(directory, { recursive: true }));

/** Records an event of a media. @returns its number in the database */
function recordMedia(media_id: string, at = EVENT_TIME): number {
  return recordFormerly(db, verified({ media_id, at }), clock.now());
}

function recordAttempt(seq: number, attempt: number, outcome: string): void {
  db.prepare('INSERT INTO attempts VALUES (?, 0, ?, ?, 10, ?, NULL)').run(seq, attempt, clock.now(), outcome);
}

function open(): Promise<SqliteStore> {
  db.close();
  return SqliteStore.open({ path, clock, threads: OWN_THREADS });
}

/** The starts of the event of a media, each as its number and how it ended. */
async function startsOf(store: SqliteStore, media: string) {
  const [event] = await store.events({ resource: `media:${media}` }, { limit: 1 });
  const records = await store.attempts(event?.id ?? '');
  return records.map(({ attempt, outcome }) => [attempt, outcome]);
}

test('an event that a former version released keeps the record of that start, and the next one gets a number of its own', async () => {
  const released = recordMedia('released');
  recordAttempt(released, 1, 'interrupted');
  await clock.advance(1);
  const again = recordMedia('failed-and-released', EVENT_TIME + 1);
  recordAttempt(again, 1, 'error');
  recordAttempt(again, 2, 'interrupted');
  db.prepare('UPDATE events SET attempts = 1 WHERE seq = ?').run(again);
  const store = await open();
  expect(await claims(store)).toMatchObject([
    { resource: 'media:released', starts: 2, attempts: 1 },
    { resource: 'media:failed-and-released', starts: 3, attempts: 2 },
  ]);
  await clock.advance(LEASE_MS);
  for (const claim of await claims(store, { owner: 'two' })) await store.settle(claim, 'two', HANDLED);
  expect(await startsOf(store, 'released')).toEqual([
    [1, 'interrupted'],
    [2, 'lost'],
    [3, 'handled'],
  ]);
  expect((await startsOf(store, 'failed-and-released')).slice(0, 3)).toEqual([
    [1, 'error'],
    [2, 'interrupted'],
    [3, 'lost'],
  ]);
  await store.close();
});

test('an event that a former version released and was running again keeps both records, when its lease has run out', async () => {
  const seq = recordMedia('running');
  recordAttempt(seq, 1, 'interrupted');
  db.prepare(`UPDATE events SET status = 'running', attempts = 1 WHERE seq = ?`).run(seq);
  db.prepare(`UPDATE lanes SET event = ?, owner = 'former', lease_until = ?, started_at = ?`).run(
    seq,
    clock.now(),
    clock.now() - LEASE_MS,
  );
  const store = await open();
  expect(await claims(store)).toMatchObject([{ starts: 3, attempts: 2 }]);
  expect(await startsOf(store, 'running')).toEqual([
    [1, 'interrupted'],
    [2, 'lost'],
  ]);
  await store.close();
});

test('an event that waits for its next attempt in a former version is told whether it is late at its next start, and then the same', async () => {
  const older = recordMedia('media', EVENT_TIME);
  recordAttempt(older, 1, 'error');
  const dueAt = clock.now() + 1000;
  db.prepare('UPDATE events SET attempts = 1, next_attempt_at = ? WHERE seq = ?').run(dueAt, older);
  const newer = recordMedia('media', EVENT_TIME + 1000);
  db.prepare(`UPDATE events SET status = 'handled', attempts = 1, handled_at = 1 WHERE seq = ?`).run(newer);
  db.exec('DELETE FROM lanes');
  const store = await open();
  await clock.advance(1000);
  const [claim] = await claims(store);
  if (!claim) throw new Error('it is not due');
  expect(claim).toMatchObject({ starts: 2, attempts: 2, late: true });
  await store.settle(claim, 'one', waiting());
  expect(await claims(store)).toMatchObject([{ starts: 3, late: true }]);
  await store.close();
});

test('an event that ended in a former version has as many starts as attempts, and its records stay', async () => {
  const seq = recordMedia('dead');
  for (const attempt of [1, 2, 3]) recordAttempt(seq, attempt, 'error');
  db.prepare(`UPDATE events SET status = 'dead', attempts = 3 WHERE seq = ?`).run(seq);
  const store = await open();
  expect(await store.events({}, { limit: 1 })).toMatchObject([{ status: 'dead', starts: 3, attempts: 3 }]);
  expect(await startsOf(store, 'dead')).toHaveLength(3);
  await store.close();
});
