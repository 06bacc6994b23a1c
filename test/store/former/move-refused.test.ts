import { execFile, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { MIB } from '../../../src/base/size-text.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { neededFor } from '../../../src/store/former/move.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { differences } from '../../support/moved-whole.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { size } from '../../support/sizes.ts';
import { mountSmallDisk, type SmallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';
import { type Extent, unpackVersion8 } from '../../support/version-8.ts';

const program = fileURLToPath(new URL('../../support/move-database.ts', import.meta.url));
const lateReader = fileURLToPath(new URL('../../support/late-reader.ts', import.meta.url));

/** For what does not depend on how large the database is. */
const EXTENT = size<Extent>({ small: 'part', full: 'whole' });

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = (file = path, threads = OWN_THREADS) =>
  SqliteStore.open({ path: file, clock: new VirtualClock(), threads });

function unusable(...parts: readonly string[]): unknown {
  const message = expect.stringMatching(new RegExp(parts.join('.*'), 's'));
  return expect.objectContaining({ code: 'STORE_UNUSABLE', message });
}

/** Runs a test on a file system of its own, where one can be mounted. */
async function onDisk(options: string, use: (disk: SmallDisk, file: string) => Promise<void>): Promise<void> {
  const disk = mountSmallDisk(options);
  if (!disk) return;
  try {
    await use(disk, join(disk.path, 'receiver.db'));
  } finally {
    disk.remove();
  }
}

/** Makes the fixture as a database whose log was emptied, which a read-only disk can have. */
function unpackWithoutLog(file: string): void {
  unpackVersion8(file, EXTENT);
  const db = new Database(file);
  db.pragma('journal_mode = DELETE');
  db.close();
}

test('a former database is left as it is, when the disk has too little room, and moved, once there is enough', async () => {
  await onDisk('size=24m', async (disk, file) => {
    unpackVersion8(file);
    const [before, names] = [readFileSync(file), readdirSync(disk.path)];
    await expect(open(file)).rejects.toEqual(
      unusable('needs \\d+ MiB', disk.path, 'where \\d+ MiB are free', 'make room'),
    );
    expect(readFileSync(file).equals(before)).toBe(true);
    expect(readdirSync(disk.path)).toEqual(names);
    execFileSync('mount', ['-o', 'remount,size=64m', disk.path]);
    await (await open(file)).close();
    expect(differences(file, `${file}.version-8`)).toEqual({});
  });
});

test('a move says before it copies anything how much of the disk it needs, when there is enough, and takes no more', async () => {
  unpackVersion8(path);
  const bytes = statSync(path).size;
  // Ends before the former database gets its second name: nothing is said after that.
  const limited = 'ulimit -f 2048 && exec "$0" "$@"';
  const run = promisify(execFile)('sh', ['-c', limited, process.execPath, program, path, 'links']);
  const { stderr } = (await run.catch((error: unknown) => error)) as { readonly stderr: string };
  const said = / (\d+) events in (\d+) MiB, for which it needs up to (\d+) MiB more of the disk; /.exec(
    stderr,
  );
  const [events, size, needed] = (said ?? []).slice(1).map(Number);
  expect({ events, size }).toEqual({ events: 10_000, size: Math.ceil(bytes / MIB) });
  expect(needed).toBe(Math.ceil(neededFor(bytes, 8) / MIB));
  await (await open()).close();
  expect(statSync(path).size).toBeLessThan((needed ?? 0) * MIB);
});

test('a move goes on, when the disk was full on its way, once there is room again', async () => {
  unpackVersion8(path);
  const limited = 'ulimit -f 4096 && exec "$0" "$@"'; // 2 MiB a file, which the new one outgrows
  const run = promisify(execFile)('sh', ['-c', limited, process.execPath, program, path, 'links']);
  await expect(run).rejects.toMatchObject({ stderr: expect.stringMatching(/SQLITE_(FULL|IOERR)/) });
  expect(existsSync(`${path}.version-8`)).toBe(false);
  const { stderr } = await promisify(execFile)(process.execPath, [program, path, 'links']);
  expect(stderr).toContain(`moved ${path}`);
  expect(differences(path, `${path}.version-8`)).toEqual({});
});

test('a former database is refused, when it cannot be written to, with what to do', async () => {
  await onDisk('size=64m', async (disk, file) => {
    unpackWithoutLog(file);
    execFileSync('mount', ['-o', 'remount,ro', disk.path]);
    await expect(open(file)).rejects.toEqual(unusable(file, 'must be allowed to write to the directory'));
    execFileSync('mount', ['-o', 'remount,rw', disk.path]);
    await (await open(file)).close();
    expect(differences(file, `${file}.version-8`)).toEqual({});
  });
});

test('a former database is moved once, when several processes open it at the same moment', async () => {
  unpackVersion8(path, EXTENT);
  const run = () => promisify(execFile)(process.execPath, [program, path, 'links']);
  const runs = await Promise.all([run(), run(), run()]);
  expect(runs.filter(({ stderr }) => stderr.includes(`moved ${path}`))).toHaveLength(1);
  expect(readdirSync(directory).toSorted()).toEqual([
    'receiver.db',
    'receiver.db.key',
    'receiver.db.version-8',
  ]);
  expect(differences(path, `${path}.version-8`)).toEqual({});
});

test('a former database is moved once, when several stores of a process open it at the same moment, one after another', async () => {
  const { events } = unpackVersion8(path, EXTENT);
  // SQLite's locks do not hold within a process: two that open at once would share the index of a log, and cut it off.
  let [opening, most] = [0, 0];
  const onWorker = (worker: Worker) => {
    most = Math.max(most, ++opening);
    worker.once('message', () => opening--);
  };
  process.on('worker', onWorker);
  const stores = await Promise.all([open(path, true), open(path, true), open(path, true)]);
  process.off('worker', onWorker);
  const counts = await Promise.all(stores.map((store) => store.count({})));
  for (const store of stores) await store.close();
  expect({ opening, most, counts }).toEqual({ opening: 0, most: 1, counts: [events, events, events] });
  expect(differences(path, `${path}.version-8`)).toEqual({});
});

test.each(['with a lock', 'alone'])(
  'a program that had opened a former database, and reads it once it was moved (%s), takes no log away from those that work with the new one',
  async (how) => {
    unpackVersion8(path, EXTENT);
    const late = fork(lateReader, [path, how]);
    await once(late, 'message');
    const store = await open();
    await store.record(verified());
    const [backup, log] = [readFileSync(`${path}.version-8`), statSync(`${path}-wal`)];
    late.send('read');
    await once(late, 'exit');
    expect(statSync(`${path}-wal`).ino).toBe(log.ino);
    expect(readFileSync(`${path}.version-8`).equals(backup)).toBe(true);
    await store.close();
    expect(differences(path, `${path}.version-8`)).toEqual({ events: 1 });
  },
);

test('a former database is refused, when other programs have it open or move it, with which of the two, and not touched', async () => {
  const moved = join(directory, 'moved.db');
  for (const file of [path, moved]) unpackVersion8(file, EXTENT);
  const user = new Database(path);
  user.prepare('SELECT 1 FROM events').get();
  const mover = new Database(moved);
  mover.pragma('locking_mode = EXCLUSIVE');
  mover.exec(
    `BEGIN EXCLUSIVE; COMMIT; ATTACH '${moved}.migrating' AS moved; PRAGMA moved.locking_mode = EXCLUSIVE`,
  );
  mover.exec('CREATE TABLE moved.ledger (seq)');
  await Promise.all([
    expect(open()).rejects.toEqual(unusable(path, 'other programs have it open', `fuser ${path}`)),
    expect(open(moved)).rejects.toEqual(unusable('another process is moving', moved, 'wait')),
  ]);
  expect(existsSync(`${path}.migrating`)).toBe(false);
  user.close();
  mover.close();
  unlinkSync(`${moved}.migrating`);
  for (const file of [path, moved]) await (await open(file)).close();
  expect(existsSync(`${path}.version-8`)).toBe(true);
});
