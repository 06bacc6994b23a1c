import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { checkDatabase } from '../../../src/store/check-files.ts';
import { openReader } from '../../../src/store/sqlite/open-sqlite.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { openSqliteSide } from '../../../src/store/transfer/sqlite-side.ts';
import { withDatabase } from '../../../src/store/with-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

let directory: string;
/** as a killed process leaves it: what it acknowledged last is in the log alone */
let path: string;
/** the database, at another place */
let away: string;

const open = (file = path) => SqliteStore.open({ path: file, clock: new VirtualClock(), threads: false });

beforeEach(async () => {
  directory = await temporaryDirectory();
  const original = join(directory, 'original.db');
  const store = await open(original);
  for (let n = 0; n < 5; n++) await store.record(verified({ media_id: `media-${n}` }));
  mkdirSync(join(directory, 'killed'));
  path = join(directory, 'killed/receiver.db');
  away = join(directory, 'killed/away.db');
  copyFileSync(original, away);
  for (const suffix of ['-wal', '.key']) copyFileSync(`${original}${suffix}`, `${path}${suffix}`);
  await store.close();
});
afterEach(() => rmSync(directory, { recursive: true }));

const LEFT = 'although its log is there';

const ways: readonly (readonly [string, () => unknown])[] = [
  ['a server or a command that writes', () => open()],
  ['a query', () => openReader(path).close()],
  ['a command that needs a database', () => withDatabase({ DATABASE_URL: `sqlite:${path}` }, async () => {})],
  ['a side of a move', () => openSqliteSide(path)],
];

describe.each([
  ['missing', () => rmSync(path, { force: true })],
  ['empty', () => writeFileSync(path, '')],
])('a log whose database is %s', (_, lose) => {
  beforeEach(lose);

  test.each(ways)('stays as it is, when %s opens the database, which is refused', async (_way, use) => {
    const before = readFileSync(`${path}-wal`);
    const isThere = existsSync(path);
    expect(before.length).toBeGreaterThan(10_000);
    await expect((async () => use())()).rejects.toThrow(LEFT);
    expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
    expect(existsSync(path)).toBe(isThere);
    // As the error says.
    copyFileSync(away, path);
    const store = await open();
    expect(await store.count({})).toBe(5);
    await store.close();
  });

  test('fails the check of the doctor, which changes nothing', () => {
    const before = readFileSync(`${path}-wal`);
    const { finding, isUsable } = checkDatabase(path);
    expect(finding).toMatchObject({ result: 'FAIL', detail: expect.stringContaining(LEFT) });
    expect(isUsable).toBe(false);
    expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
  });
});

test('the log stays as it is, when links of links lead to a database that is missing', async () => {
  const before = readFileSync(`${path}-wal`);
  symlinkSync(path, join(directory, 'inner.db'));
  symlinkSync('inner.db', join(directory, 'outer.db'));
  await expect(open(join(directory, 'outer.db'))).rejects.toThrow(LEFT);
  expect(readFileSync(`${path}-wal`).equals(before)).toBe(true);
});

test('an empty database begins, when its log was moved away, as the error says', async () => {
  rmSync(`${path}-wal`);
  rmSync(`${path}.key`);
  const store = await open();
  expect(await store.count({})).toBe(0);
  await store.close();
});

test('an empty log keeps no database from being made', async () => {
  writeFileSync(`${path}-wal`, '');
  const store = await open();
  await store.record(verified({}));
  expect(await store.count({})).toBe(1);
  await store.close();
  expect(statSync(path).size).toBeGreaterThan(0);
});

test('a store goes on with its own files, when the process changes its directory', async () => {
  const before = process.cwd();
  const other = join(directory, 'other');
  mkdirSync(other);
  process.chdir(directory);
  try {
    const store = await open('relative.db');
    await store.record(verified({ media_id: 'one' }));
    process.chdir(other);
    await store.record(verified({ media_id: 'two' }));
    expect(await store.count({})).toBe(2);
    await store.addSecret('webhook-1', 'a secret of a webhook');
    await store.close();
    expect(existsSync(join(other, 'relative.db'))).toBe(false);
  } finally {
    process.chdir(before);
  }
});
