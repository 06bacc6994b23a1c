import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { operations } from '../../../src/store/semantics/operations.ts';
import { batchWriter, FileGuard } from '../../../src/store/sqlite/write-batch.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A power cut may undo these: an event runs again then, and its handler can tell. Of a new operation, decide. */
const MAY_BE_UNDONE = ['claim', 'renew', 'settle', 'step', 'holds'];
const OTHERS = Object.keys(operations).filter((name) => !MAY_BE_UNDONE.includes(name));

/** Values of `PRAGMA synchronous`. */
const [NORMAL, FULL] = [1, 2];

let directory: string;
let db: Database.Database;
beforeEach(async () => {
  directory = await temporaryDirectory();
  db = new Database(join(directory, 'receiver.db'));
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = FULL');
  db.exec('CREATE TABLE written (name)');
});
afterEach(() => {
  db.close();
  rmSync(directory, { recursive: true });
});

/** Does batches of requests of these names. @returns how each commit waited for the disk */
async function commits(...batches: readonly (readonly string[])[]): Promise<unknown[]> {
  const waited: unknown[] = [];
  const write = batchWriter(db, new FileGuard(db.name), async (batch) => {
    waited.push(db.pragma('synchronous', { simple: true }));
    for (const { name } of batch) db.prepare('INSERT INTO written VALUES (?)').run(name);
    return batch.map(({ name }) => name);
  });
  for (const names of batches) {
    const replies = await write(names.map((name) => ({ name, input: undefined })));
    expect(replies).toEqual(names.map((output) => ({ output })));
  }
  return waited;
}

test.each(OTHERS)(
  'a commit waits for the disk, when it has %s, alone or with what need not wait',
  async (name) => {
    const batches = [[name], MAY_BE_UNDONE, [...MAY_BE_UNDONE, name], MAY_BE_UNDONE, [name, 'settle']];
    expect(await commits(...batches)).toEqual([FULL, NORMAL, FULL, NORMAL, FULL]);
  },
);

test.each(MAY_BE_UNDONE)('a commit does not wait for the disk, when it has nothing but %s', async (name) => {
  expect(await commits([name], [name, 'claim'])).toEqual([NORMAL, NORMAL]);
});
