import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { newOwner } from '../../../src/store/owner.ts';
import { openWriter } from '../../../src/store/sqlite/open-sqlite.ts';
import { MOVED_VERSION, SCHEMA_VERSION, schema } from '../../../src/store/sqlite/schema.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { claimOne, HANDLED } from '../../support/claiming.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

let directory: string;
let path: string;
/** as a program of version 9 has it open */
let former: Database.Database;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  former = new Database(path);
  former.pragma('journal_mode = WAL');
  former.exec(schema);
  former.pragma(`user_version = ${MOVED_VERSION}`);
});

afterEach(() => {
  former.close();
  rmSync(directory, { recursive: true });
});

/** Records starts as version 9 does, with statements that it prepared before. */
function formerAttempts() {
  const add = former.prepare(
    `INSERT OR REPLACE INTO attempts (event, replay, attempt, started_at, duration_ms, outcome, error)
     VALUES (1, 0, ?, 1000, 10, 'error', 'not yet')`,
  );
  const read = former.prepare<[], { attempt: number }>('SELECT * FROM attempts ORDER BY attempt');
  return { add: (attempt: number) => add.run(attempt), read: () => read.all().map(({ attempt }) => attempt) };
}

test('a database of version 9 is extended in place, when a program of it goes on beside, and its records name no instance', async () => {
  const beside = formerAttempts();
  beside.add(1);
  const clock = new VirtualClock();
  const store = await SqliteStore.open({ path, clock, threads: false });
  expect(former.pragma('user_version', { simple: true })).toBe(SCHEMA_VERSION);
  beside.add(2);
  const { id } = await store.record(verified());
  const owner = newOwner('receiver-1');
  const claim = await claimOne(store, { owner });
  former.exec('UPDATE work SET attempts = 3');
  expect(await store.settle({ ...claim, starts: 3 }, owner, HANDLED)).toBe(true);
  expect((await store.attempts(id)).map(({ attempt, instance }) => [attempt, instance])).toEqual([
    [1, undefined],
    [2, undefined],
    [3, 'receiver-1'],
  ]);
  expect(beside.read()).toEqual([1, 2, 3]);
  await store.close();
});

test('a database of version 9 is extended once, when it is opened several times', () => {
  for (let time = 0; time < 3; time++) openWriter(path).close();
  const columns = former.pragma('table_info(attempts)') as { readonly name: string }[];
  expect(columns.filter(({ name }) => name === 'instance')).toHaveLength(1);
});
