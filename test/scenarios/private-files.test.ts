import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { writeWholeFile } from '../../src/base/whole-file.ts';
import { checkDatabase } from '../../src/store/check-files.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { firstVersion } from '../support/first-version.ts';
import { bodyOf, deliver, SECRET } from '../support/notifications.ts';
import { runCli } from '../support/run-cli.ts';
import { type ServiceProcess, startProcess } from '../support/service-process.ts';
import { size, some } from '../support/sizes.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

let directory: string;
let path: string;
let service: ServiceProcess | undefined;
const umask = process.umask();

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});

afterEach(async () => {
  process.umask(umask);
  service?.child.kill('SIGKILL');
  await service?.exited;
  service = undefined;
  rmSync(directory, { recursive: true });
});

const openStore = () => SqliteStore.open({ path, clock: systemClock, threads: false });
/** With its threads, as a server has it. */
const openWhole = () => SqliteStore.open({ path, clock: systemClock });
const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);
const modesIn = (where: string) =>
  Object.fromEntries(readdirSync(where).map((name) => [name, modeOf(join(where, name))]));

describe('files', () => {
  test.each(some(1, [0o000, 0o022, 0o077]))(
    'are for their owner alone, when the umask is %o, directories too',
    async (mask) => {
      process.umask(mask);
      path = join(directory, 'new', 'data', 'receiver.db');
      const store = await openWhole();
      await store.record(verified());
      await store.count({});
      await writeWholeFile(join(directory, 'new', 'events.ndjson'), { what: 'a file', member: 'a' }, (file) =>
        file.write('{}\n'),
      );
      expect(modesIn(join(directory, 'new', 'data'))).toEqual({
        'receiver.db': '600',
        'receiver.db-shm': '600',
        'receiver.db-wal': '600',
        'receiver.db.key': '600',
      });
      expect(modesIn(join(directory, 'new'))).toEqual({ data: '700', 'events.ndjson': '600' });
      expect(modeOf(join(directory, 'new'))).toBe('700');
      await store.close();
    },
  );

  test('are closed to others, when a former version left them open, with the log of one that crashed', async () => {
    process.umask(0o022);
    const former = firstVersion(path, Buffer.alloc(32, 1), []).db;
    // A copy is what a crash leaves: the program itself would move its log into the database.
    const crashed = join(directory, 'crashed');
    mkdirSync(crashed);
    for (const name of ['receiver.db', 'receiver.db-wal', 'receiver.db.key']) {
      copyFileSync(join(directory, name), join(crashed, name));
    }
    former.close();
    path = join(crashed, 'receiver.db');
    expect(modesIn(crashed)).toMatchObject({ 'receiver.db': '644', 'receiver.db-wal': '644' });
    const store = await openStore();
    expect(modesIn(crashed)).toMatchObject({ 'receiver.db-wal': '600', 'receiver.db.version-8': '600' });
    expect(new Set(Object.values(modesIn(crashed)))).toEqual(new Set(['600']));
    await store.close();
  });

  test('stay readable to a group, when an operator wanted that, and the log is too', async () => {
    await (await openStore()).close();
    chmodSync(path, 0o640);
    const store = await openStore();
    expect(modesIn(directory)).toMatchObject({ 'receiver.db': '640', 'receiver.db-wal': '640' });
    await store.close();
  });

  test.each([
    [0o600, 'ok'],
    [0o640, 'warn'],
    [0o604, 'FAIL'],
    [0o644, 'FAIL'],
  ])('are judged by the doctor, when the mode of the database is %o: %s', async (mode, result) => {
    await (await openStore()).close();
    chmodSync(path, mode);
    expect(checkDatabase(path)).toMatchObject({ isUsable: true, finding: { result } });
  });

  test('of directories that are there already keep their modes, when a database is made in one', async () => {
    const data = join(directory, 'data');
    mkdirSync(data);
    chmodSync(data, 0o755);
    path = join(data, 'receiver.db');
    await (await openStore()).close();
    expect(modeOf(data)).toBe('755');
  });
});

/** All that is sealed in the database now, and what a ping wrote. */
function sealedIn(): Buffer[] {
  const db = new Database(path, { readonly: true });
  const rows = db
    .prepare<[], Buffer>(
      "SELECT sealed FROM secrets UNION ALL SELECT value FROM meta WHERE name IN ('ping', 'secrets key check')",
    )
    .pluck()
    .all();
  db.close();
  return rows;
}

/** How many of these values are in any file beside the database, whole or from their middle on. */
function found(values: readonly Buffer[]): number {
  const files = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
  return values.filter((value) => files.some((file) => file.includes(value.subarray(value.length >> 1))))
    .length;
}

/** Secrets of several lengths, so that rows move between pages, and some do not fit into one. */
const secretOf = (number: number) => `${number}-`.repeat(10 + ((number * 37) % 400));
const env = () => ({ DATABASE_URL: `sqlite:${path}` });
const rekey = () => runCli(['secrets', 'rekey', '--json'], { env: env() });

async function fillAndRetire(count: number): Promise<Buffer[]> {
  const store = await openStore();
  for (let number = 0; number < count; number++) await store.addSecret(`hook${number % 7}`, secretOf(number));
  const before = sealedIn();
  for (let number = 0; number < count; number += 3) {
    await store.retireSecret(`hook${number % 7}`, secretOf(number), systemClock.now());
  }
  await store.close();
  return before;
}

describe('old sealed content', () => {
  const few = size({ small: 10, full: 60 });
  const many = size({ small: 21, full: 120 });

  test('is in none of the files, when a secret retired since, nor in the log while the store is open', async () => {
    const store = await openWhole();
    for (let number = 0; number < few; number++) await store.addSecret('hook0001', secretOf(number));
    const live = sealedIn();
    for (let number = 0; number < few; number++) {
      await store.retireSecret('hook0001', secretOf(number), systemClock.now());
    }
    const now = sealedIn();
    const retired = live.filter((value) => !now.some((one) => one.equals(value)));
    expect(retired).toHaveLength(few);
    expect(found(retired)).toBe(0);
    expect(found(now)).toBe(now.length);
    await store.close();
  });

  test('is in none of the files, when all was sealed under a new key, offline', async () => {
    const before = [...(await fillAndRetire(many)), ...sealedIn()];
    expect(await rekey()).toEqual({ code: 0, stdout: `{"sealed":${many},"scrubbed":true}\n`, stderr: '' });
    expect(found(before)).toBe(0);
    expect(found(sealedIn())).toBe(many + 2 - 1);
  });

  test('is in none of the files, when rows beside the one that tells the key were changed before', async () => {
    const store = await openStore();
    await store.addSecret('hook0001', SECRET);
    const before = sealedIn();
    for (let number = 0; number < 200; number++) {
      const machine = 'm'.repeat((number * 37) % 300);
      await store.readClock({ machine, sinceBootMs: number, now: number * 1e9 });
    }
    await store.close();
    expect(await rekey()).toMatchObject({ code: 0, stdout: '{"sealed":1,"scrubbed":true}\n' });
    expect(found(before)).toBe(0);
  });

  test('is in none of the files, when all was sealed under a new key beside a server under traffic', async () => {
    const store = await openStore();
    await store.addSecret('hook0001', SECRET);
    await store.close();
    await fillAndRetire(few);
    service = await startProcess(env());
    const { url } = service;
    let isOn = true;
    const statuses: number[] = [];
    const sending = (async () => {
      for (let number = 0; isOn; number++) statuses.push((await deliver(url, bodyOf(number))).status);
    })();
    try {
      for (let round = 0; round < size({ small: 1, full: 2 }); round++) {
        const before = sealedIn();
        expect(await rekey()).toMatchObject({ code: 0, stdout: `{"sealed":${few + 1},"scrubbed":true}\n` });
        expect(found(before)).toBe(0);
      }
    } finally {
      isOn = false;
      await sending;
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test('is in none of the files but the former databases, which are named, when a former version had left copies all over a database', async () => {
    const secrets = Array.from({ length: many }, (_, number) => ({
      webhookId: `hook${number % 7}`,
      secret: secretOf(number),
    }));
    const former = firstVersion(path, Buffer.alloc(32, 1), secrets);
    const before = sealedIn();
    former.db.exec(`DELETE FROM secrets WHERE webhook_id <> 'hook0'`); // frees pages, with all that is in them
    former.db.pragma('wal_checkpoint(TRUNCATE)');
    former.db.close();
    expect(found(before)).toBeGreaterThan(many / 6);
    const { stdout, stderr, code } = await rekey();
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      sealed: Math.ceil(many / 7),
      scrubbed: false,
    });
    expect(stderr).toContain(
      `${path}.version-1, ${path}.version-8 are databases of an earlier version, with all that they held: delete them`,
    );
    expect(found(before)).toBeGreaterThan(0);
    for (const version of [1, 8]) rmSync(`${path}.version-${version}`);
    expect(found(before)).toBe(0);
    expect(await runCli(['secrets', 'scrub', '--json'], { env: env() })).toMatchObject({
      code: 0,
      stdout: '{"scrubbed":true}\n',
    });
  });

  test('is said to be there still, when another process reads an older state of the log, and scrub removes it after', async () => {
    await (await openStore()).close();
    await fillAndRetire(10);
    const reader = new Database(path, { readonly: true });
    const before = sealedIn();
    reader.exec('BEGIN');
    reader.prepare('SELECT * FROM secrets').all();
    const run = await rekey();
    expect(run).toMatchObject({ code: 0, stdout: '{"sealed":10,"scrubbed":false}\n' });
    expect(run.stderr).toMatch(
      /^the log .* still holds replaced content.*: then run npx hookkit secrets scrub\n$/,
    );
    expect(found(before)).toBeGreaterThan(0);
    reader.exec('COMMIT');
    expect(await runCli(['secrets', 'scrub', '--json'], { env: env() })).toEqual({
      code: 0,
      stdout: '{"scrubbed":true}\n',
      stderr: '',
    });
    expect(found(before)).toBe(0);
    reader.close();
  });
});
