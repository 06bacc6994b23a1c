import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Driver from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import type { EventStore } from '../../src/store/event-store.ts';
import { openStore, withReader } from '../../src/store/open.ts';
import { VERSION } from '../../src/store/schema.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { notified } from './desk.ts';

let folder: string;
let path: string;
const stores: EventStore[] = [];

async function opened(threads = false, file = path): Promise<EventStore> {
  const store = await openStore({ DATABASE_URL: `sqlite:${file}`, clock: systemClock, threads });
  stores.push(store);
  return store;
}

const modeOf = (file: string) => (fs.statSync(file).mode & 0o777).toString(8);
const unusable = (what: RegExp) => ({ code: 'STORE_UNUSABLE', message: expect.stringMatching(what) });

beforeEach(async () => {
  folder = await temporaryDirectory();
  path = join(folder, 'receiver.db');
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

/** A database with an event, as a process that was killed leaves it: its log holds what it wrote. */
async function killed(): Promise<string> {
  const store = await opened();
  const one = notified();
  await store.queue.record(one);
  const copies = fs
    .readdirSync(folder)
    .map((name) => [join(folder, name), fs.readFileSync(join(folder, name))] as const);
  await store.close();
  for (const [file, content] of copies) fs.writeFileSync(file, content);
  fs.rmSync(`${path}-shm`);
  return one.id;
}

test('a database that no service has opened is refused by what only reads, and stays as it is', async () => {
  fs.writeFileSync(path, '', { mode: 0o600 });
  const read = withReader({ DATABASE_URL: `sqlite:${path}` }, (store) => store.queue.count({}));
  await expect(read).rejects.toMatchObject(
    unusable(new RegExp(`has schema version 0: start the service, which brings it to ${VERSION}`)),
  );
  expect(fs.statSync(path).size).toBe(0);
});

describe.each([false, true])('a SQLite database (threads: %s)', (threads) => {
  test('is made with mode 0600 in a directory with 0700, whatever the umask, with a log and a key beside it', async () => {
    const data = join(folder, 'data');
    const umask = process.umask(0);
    try {
      await (await opened(threads, join(data, 'receiver.db'))).queue.record(notified());
    } finally {
      process.umask(umask);
    }
    const names = fs.readdirSync(data);
    expect(names).toEqual(expect.arrayContaining(['receiver.db', 'receiver.db-wal', 'receiver.db.key']));
    expect(names.filter((name) => modeOf(join(data, name)) !== '600')).toEqual([]);
    expect(modeOf(data)).toBe('700');
  });

  test('is refused, when its file is gone and its log is not, and nothing is deleted', async () => {
    await killed();
    fs.rmSync(path);
    await expect(opened(threads)).rejects.toMatchObject(
      unusable(/receiver\.db does not exist, although \S+-wal exists/),
    );
    expect(fs.statSync(`${path}-wal`).size).toBeGreaterThan(0);
    expect(fs.existsSync(path)).toBe(false);
    fs.truncateSync(`${path}-wal`);
    await opened(threads); // an empty log has nothing to lose
  });

  test('is refused, when its file is empty, and a log or a key shows that it was not', async () => {
    await killed();
    fs.truncateSync(path);
    await expect(opened(threads)).rejects.toMatchObject(unusable(/is empty, although \S+-wal exists/));
    fs.rmSync(`${path}-wal`);
    await expect(opened(threads)).rejects.toMatchObject(unusable(/is empty, although \S+\.key exists/));
    expect(fs.statSync(path).size).toBe(0);
  });
});

describe('a SQLite database', () => {
  test('is closed to others, when everybody may read it, and stays open to a group, as its directory does', async () => {
    fs.chmodSync(folder, 0o755);
    await (await opened()).close();
    for (const [mode, kept] of [
      ['644', '600'],
      ['640', '640'],
    ] as const) {
      fs.chmodSync(path, mode);
      await (await opened()).close();
      expect([modeOf(path), modeOf(folder)]).toEqual([kept, '755']);
    }
  });

  test('is made once, when two start at once, and both use it', async () => {
    const both = await Promise.all([opened(true), opened(true)]);
    const one = notified();
    expect(
      await Promise.all(both.map((store) => store.queue.record(one).then(({ status }) => status))),
    ).toContain('duplicate');
  });

  test('changes nothing at a start, when the version is current, and waits for no write', async () => {
    await opened();
    const writer = new Driver(path);
    writer.exec('BEGIN IMMEDIATE');
    const before = writer.pragma('schema_version', { simple: true });
    await opened(true);
    writer.exec('ROLLBACK');
    expect(writer.pragma('schema_version', { simple: true })).toBe(before);
    writer.close();
  });
});
