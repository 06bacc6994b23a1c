import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../../src/base/clock.ts';
import { SCHEMA_VERSION } from '../../../src/store/sqlite/schema.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { claimOne, HANDLED } from '../../support/claiming.ts';
import { firstVersion, recordFormerly } from '../../support/first-version.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { EVENT_TIME, verified } from '../../support/verified-notification.ts';

const STATE = [{ name: 'posted', value: '"a"' }];

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (file = path) => SqliteStore.open({ path: file, clock: systemClock, threads: false });

test('a database of the first version has no state at first, when it is opened, and keeps what its events leave', async () => {
  const { db } = firstVersion(path, Buffer.alloc(32, 1), []);
  recordFormerly(db, verified(), Date.now());
  db.prepare("INSERT INTO steps VALUES (1, '', '1'), (1, ?, '2')").run('x'.repeat(300));
  db.close();
  const opened = await open();
  const claim = await claimOne(opened);
  expect(claim.state).toEqual([]);
  // Steps under names that are refused now stay with their event.
  expect(await opened.steps(claim.id)).toHaveLength(2);
  await opened.settle(claim, 'one', { ...HANDLED, state: STATE });
  await opened.close();
  const again = await open();
  expect(await again.state(claim.resource)).toEqual(STATE);
  await again.close();
  const version = new Database(path, { readonly: true });
  expect(version.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION);
  version.close();
});

test('a copy has the state, when the database is backed up or moved as documented, and its events go on with it', async () => {
  const store = await open();
  await store.record(verified());
  await store.settle(await claimOne(store), 'one', { ...HANDLED, state: STATE });
  const copy = join(directory, 'copy.db');
  const db = new Database(path);
  db.exec(`VACUUM INTO '${copy}'`);
  db.close();
  copyFileSync(`${path}.key`, `${copy}.key`);
  const moved = await open(copy);
  expect(await moved.state('media:media-1')).toEqual(STATE);
  await moved.record(verified({ at: EVENT_TIME + 1000 }));
  expect((await claimOne(moved)).state).toEqual(STATE);
  await moved.close();
  await store.close();
});
