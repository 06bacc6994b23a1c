import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { lockAlone, movingOf } from '../../../src/store/former/lock-alone.ts';
import { backupsOf, isFormer } from '../../../src/store/former/move.ts';
import { MOVED_VERSION, SCHEMA_VERSION } from '../../../src/store/sqlite/schema.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { versionOf } from '../../../src/store/sqlite/upkeep.ts';
import { firstVersion } from '../../support/first-version.ts';
import { size } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const recordOne = fileURLToPath(new URL('../../support/record-one.ts', import.meta.url));
const PROCESSES = 4;
const ROUNDS = size({ small: 1, full: 20 });

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

function makeEmpty(file: string, version: number): void {
  const db = new Database(file);
  db.pragma(`user_version = ${version}`);
  db.close();
}

/** Locks the database once `steps[0]` is set, sets `steps[1]`, and a moment later puts the new file in its place. */
const MOVER = `
  const { renameSync } = require('node:fs');
  const { workerData: { path, moving, sqlite, steps } } = require('node:worker_threads');
  const db = new (require(sqlite))(path);
  db.pragma('locking_mode = EXCLUSIVE');
  Atomics.wait(steps, 0, 0);
  db.exec('BEGIN EXCLUSIVE; COMMIT');
  Atomics.store(steps, 1, 1);
  Atomics.notify(steps, 1);
  Atomics.wait(steps, 1, 1, 40);
  renameSync(moving, path);
  db.close();
`;

test('the file that another process has just moved is not moved again, when its lock was waited for', async () => {
  makeEmpty(path, MOVED_VERSION - 1);
  makeEmpty(movingOf(path), SCHEMA_VERSION);
  const steps = new Int32Array(new SharedArrayBuffer(8));
  const sqlite = createRequire(import.meta.url).resolve('better-sqlite3');
  const mover = new Worker(MOVER, {
    eval: true,
    workerData: { path, moving: movingOf(path), sqlite, steps },
  });
  const ended = new Promise((resolve) => mover.once('exit', resolve));
  const asked: number[] = [];
  const locked = lockAlone(path, (version) => {
    asked.push(version);
    if (asked.length === 1) {
      // Everything was seen to be as it should, and the other process is quicker.
      Atomics.store(steps, 0, 1);
      Atomics.notify(steps, 0);
      Atomics.wait(steps, 1, 0);
    }
    return isFormer(version);
  });
  expect(locked).toBeUndefined();
  expect(asked[0]).toBe(MOVED_VERSION - 1);
  expect(await ended).toBe(0);
  const db = new Database(path, { readonly: true });
  expect(versionOf(db)).toBe(SCHEMA_VERSION);
  db.close();
});

test(`what ${PROCESSES} programs that start at once with a former database record is there, and it is moved once`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const file = join(directory, `round-${round}.db`);
    firstVersion(file, Buffer.alloc(32, 7), []).db.close();
    const media = Array.from({ length: PROCESSES }, (_, number) => `media-${number}`);
    await Promise.all(media.map((name) => promisify(execFile)(process.execPath, [recordOne, file, name])));
    const store = await SqliteStore.open({ path: file, clock: new VirtualClock(), threads: false });
    const events = await store.events({}, { limit: 10 });
    await store.close();
    expect(events.map(({ resource }) => resource).toSorted()).toEqual(media.map((name) => `media:${name}`));
    expect(backupsOf(file)).toEqual([`${file}.version-1`, `${file}.version-8`]);
  }
});
