import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

let directory: string;
let store: SqliteStore;
let other: Database.Database;

beforeEach(async () => {
  directory = await temporaryDirectory();
  const path = join(directory, 'receiver.db');
  store = await SqliteStore.open({ path, clock: new VirtualClock() });
  other = new Database(path);
});

afterEach(async () => {
  other.close(); // lets the lock go, if the test did not come so far
  await store.close();
  rmSync(directory, { recursive: true });
});

// SQLite itself waits here, on its own thread and in real time. What comes together is to be refused together: were each
// call to wait on its own, a hundred requests would hold the thread for minutes, and this test would run out of time.
test('calls that came together are refused together, when another process keeps the write lock, and later ones go through', async () => {
  other.exec('BEGIN IMMEDIATE');
  const calls = Array.from({ length: 20 }, (_, number) =>
    store.record(verified({ media_id: `media-${number}` })),
  );
  const answers = await Promise.allSettled(calls);
  other.exec('COMMIT');
  expect(answers).toMatchObject(calls.map(() => ({ reason: { code: 'STORE_UNAVAILABLE' } })));
  expect((await store.record(verified())).status).toBe('accepted');
  expect(await store.count({})).toBe(1);
});
