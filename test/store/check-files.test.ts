import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import type { Finding } from '../../src/base/finding.ts';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { checkBackups, checkDatabase, checkDisk, checkKeyFile } from '../../src/store/check-files.ts';
import { LONGEST_LOG } from '../../src/store/sqlite/open-sqlite.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { OWN_THREADS } from '../support/own-threads.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { unpackVersion8 } from '../support/version-8.ts';

let directory: string;
let path: string;
beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

async function makeDatabase(): Promise<void> {
  const store = await SqliteStore.open({ path, clock: new VirtualClock(), threads: OWN_THREADS });
  await store.close();
}

describe('the database', () => {
  test('is only missed, when it is not there, and is not made', () => {
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result: 'warn' } });
    expect(checkDatabase(path).finding.detail).toContain('there is none');
  });

  test('is well, when a store has made it', async () => {
    await makeDatabase();
    expect(checkDatabase(path)).toMatchObject({ isUsable: true, finding: { result: 'ok' } });
  });

  test.each([
    [0, 'warn'],
    [999, 'FAIL'],
  ])('is not touched, when its schema has version %d: %s', async (version, result) => {
    await makeDatabase();
    const db = new Database(path);
    db.pragma(`user_version = ${version}`);
    db.close();
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result } });
    const after = new Database(path, { readonly: true });
    expect(after.pragma('user_version', { simple: true })).toBe(version);
    after.close();
  });

  test('fails, when it is empty beside a key, and only warns without one', async () => {
    await makeDatabase();
    writeFileSync(path, '');
    const wrong = { result: 'FAIL', detail: expect.stringMatching(/is empty, although .* cut short/) };
    expect(checkDatabase(path)).toEqual({ isUsable: false, finding: { check: 'database', ...wrong } });
    rmSync(`${path}.key`);
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result: 'warn' } });
  });

  test('fails with what it is, when it is a copy that was cut short, beside its journal', async () => {
    const db = new Database(join(directory, 'part'));
    db.exec('PRAGMA cache_size = 1; BEGIN; CREATE TABLE t (c)');
    const insert = db.prepare('INSERT INTO t VALUES (randomblob(10000))');
    for (let row = 0; row < 100; row++) insert.run();
    copyFileSync(join(directory, 'part'), path);
    copyFileSync(join(directory, 'part-journal'), `${path}-journal`);
    db.close();
    const { finding } = checkDatabase(path);
    expect(finding).toMatchObject({
      result: 'FAIL',
      detail: expect.stringContaining('-journal is of a copy'),
    });
  });

  const asUser = process.getuid?.() === 0 ? test.skip : test;
  asUser('fails and is not opened, when its owner may not write it', async () => {
    await makeDatabase();
    chmodSync(path, 0o400);
    const { finding } = checkDatabase(path);
    expect(finding).toMatchObject({ result: 'FAIL', detail: expect.stringContaining(`chmod u+w ${path}`) });
    expect(readdirSync(directory).sort()).toEqual(['receiver.db', 'receiver.db.key']);
  });

  test('fails, when it is damaged or no database', async () => {
    writeFileSync(path, 'this is no database, but a text that is long enough to be looked at'.repeat(100));
    expect(checkDatabase(path)).toMatchObject({ isUsable: false, finding: { result: 'FAIL' } });
  });
});

describe('a former database', () => {
  const found = (...results: readonly Finding['result'][]) =>
    results.map((result) => ({ check: 'events', result, detail: '' }));

  test('is named with what its move needs, when it was not moved yet, and not touched', () => {
    unpackVersion8(path, 'part');
    const before = readFileSync(path);
    const { finding, isUsable } = checkDatabase(path);
    expect({ finding, isUsable }).toMatchObject({ isUsable: false, finding: { result: 'warn' } });
    expect(finding.detail).toMatch(/version 8: .* moves it into a new file of version 11, needs \d+ MiB/);
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(checkBackups(path, found('ok'))).toEqual([]);
  });

  test('is named as a backup with its size, when it was moved: to be deleted if all is well, and else kept', async () => {
    unpackVersion8(path, 'part');
    await makeDatabase();
    expect(checkDatabase(path)).toMatchObject({ isUsable: true, finding: { result: 'ok' } });
    const [well, failed, unread] = [found('ok', 'warn'), found('ok', 'FAIL'), []].map((others) =>
      checkBackups(path, others),
    );
    const named = `${path}.version-8 (1 MiB)`;
    const warning = (text: string) => [
      { check: 'backup', result: 'warn', detail: expect.stringContaining(text) },
    ];
    expect(well).toEqual(warning('delete it'));
    expect(well?.[0]?.detail).toContain(named);
    for (const kept of [failed, unread]) expect(kept).toEqual(warning('keep it'));
  });

  test('is not named, when the directory is not there', () => {
    expect(checkBackups(join(directory, 'not', 'yet', 'receiver.db'), [])).toEqual([]);
  });
});

describe('the disk', () => {
  test('is well, when there is room and it can be written to, also before the directory is there', () => {
    expect(checkDisk(join(directory, 'not', 'yet', 'receiver.db')).result).not.toBe('FAIL');
    expect(checkDisk(path).detail).toMatch(/ is writable, \d+ MiB free/);
  });

  (process.getuid?.() === 0 ? test.skip : test)('fails, when the directory may not be written to', () => {
    mkdirSync(join(directory, 'closed'), { mode: 0o500 });
    expect(checkDisk(join(directory, 'closed', 'receiver.db')).result).toBe('FAIL');
  });
});

describe('the key file', () => {
  test.each([
    [0o600, 'ok'],
    [0o400, 'ok'],
    [0o640, 'FAIL'],
    [0o644, 'FAIL'],
  ])('is judged, when its mode is %o: %s', (mode, result) => {
    const key = `${path}.key`;
    writeFileSync(key, '');
    chmodSync(key, mode);
    const finding = checkKeyFile(key, { SECRETS_KEY: undefined });
    expect(finding.result).toBe(result);
    expect(finding.detail).toContain(mode.toString(8));
  });

  test('is not needed, when SECRETS_KEY is set', () => {
    expect(checkKeyFile(`${path}.key`, { SECRETS_KEY: Buffer.alloc(32) }).result).toBe('ok');
  });
});

describe('the log', () => {
  test('is warned of, when it is very long, with who may keep it so, and not once it is short again', async () => {
    const store = await SqliteStore.open({ path, clock: new VirtualClock() });
    await store.ping();
    const length = statSync(`${path}-wal`).size;
    truncateSync(`${path}-wal`, 5 * LONGEST_LOG);
    expect(checkDatabase(path)).toMatchObject({ isUsable: true, finding: { result: 'warn' } });
    expect(checkDatabase(path).finding.detail).toMatch(/ has \d+ MiB, as a program keeps .* fuser /);
    truncateSync(`${path}-wal`, length);
    expect(checkDatabase(path)).toMatchObject({ isUsable: true, finding: { result: 'ok' } });
    await store.close();
  });
});
