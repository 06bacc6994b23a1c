import { existsSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';
import { unpackVersion8 } from '../../support/version-8.ts';

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (file = path) => SqliteStore.open({ path: file, clock: new VirtualClock(), threads: false });
const MOVED = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringContaining('was moved, deleted or replaced'),
};

test.each([
  ['the database', ''],
  ['its log', '-wal'],
])('nothing is acknowledged while %s is away, also where DATABASE_URL names a link', async (_, suffix) => {
  await (await open()).close();
  const link = join(directory, 'link.db');
  symlinkSync(path, link);
  renameSync(`${path}.key`, `${link}.key`);
  const store = await open(link);
  await store.record(verified({ media_id: 'before' }));
  renameSync(path + suffix, join(directory, 'away'));
  await expect(store.record(verified({ media_id: 'meanwhile' }))).rejects.toMatchObject(MOVED);
  renameSync(join(directory, 'away'), path + suffix);
  await store.record(verified({ media_id: 'after' }));
  await store.close();
  const again = await open(link);
  expect(await again.count({})).toBe(2);
  await again.close();
});

test('a link that leads to another database is noticed', async () => {
  const [one, other, link] = ['one.db', 'other.db', 'link.db'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  await (await open(one)).close();
  await (await open(other)).close();
  symlinkSync(one, link);
  renameSync(`${one}.key`, `${link}.key`);
  const store = await open(link);
  rmSync(link);
  symlinkSync(other, link);
  await expect(store.record(verified())).rejects.toMatchObject(MOVED);
  rmSync(link);
  symlinkSync(one, link);
  await store.close();
});

test('a backup that was moved over an open database is whole at the next start, and the log of the former one is kept', async () => {
  const store = await open();
  await store.record(verified({ media_id: 'in the backup' }));
  const db = new Database(path, { readonly: true });
  db.prepare('VACUUM INTO ?').run(join(directory, 'backup.db'));
  db.close();
  for (let number = 0; number < 300; number++) await store.record(verified({ media_id: `later-${number}` }));
  renameSync(join(directory, 'backup.db'), path);
  await expect(store.record(verified({ media_id: 'meanwhile' }))).rejects.toMatchObject({
    message: expect.stringContaining('move it back; to work with the file that is there now instead, stop'),
  });
  await store.close();
  expect(existsSync(`${path}-wal.of-replaced`)).toBe(true);
  const again = await open();
  expect((await again.events({}, { limit: 10 })).map(({ resource }) => resource)).toEqual([
    'media:in the backup',
  ]);
  await again.close();
  const restored = new Database(path, { readonly: true });
  expect(restored.pragma('integrity_check', { simple: true })).toBe('ok');
  restored.close();
});

test('the log of a database that is away at the stop keeps its name: the database may come back', async () => {
  const store = await open();
  await store.record(verified({ media_id: 'kept' }));
  renameSync(path, join(directory, 'away'));
  await store.close();
  renameSync(join(directory, 'away'), path);
  const again = await open();
  expect(await again.count({})).toBe(1);
  await again.close();
});

test('a new file that was begun long ago does not become the database, when the former one is not kept beside it', async () => {
  const moving = `${path}.migrating`;
  await (await open(moving)).close();
  rmSync(`${moving}.key`);
  await expect(open()).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringContaining(
      `${path} is not there, and ${moving} is a part of a former database: move`,
    ),
  });
  expect(readdirSync(directory)).toContain('receiver.db.migrating');
  writeFileSync(`${path}.version-8`, 'another one');
  await expect(open()).rejects.toMatchObject({ code: 'STORE_UNUSABLE' });
  rmSync(moving);
  await (await open()).close();
});

test('a move that was killed between its two renames ends at the next start, also where DATABASE_URL names a link', async () => {
  const { events } = unpackVersion8(path, 'part');
  const link = join(directory, 'link.db');
  symlinkSync(path, link);
  renameSync(`${path}.key`, `${link}.key`);
  await (await open(link)).close();
  renameSync(path, `${path}.migrating`);
  const store = await open(link);
  expect(await store.count({})).toBe(events);
  await store.close();
  expect(existsSync(`${path}.migrating`)).toBe(false);
});
