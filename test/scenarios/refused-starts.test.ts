import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { type CliOptions, type CliRun, runCli } from '../support/run-cli.ts';
import { size } from '../support/sizes.ts';
import { mountSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { verified } from '../support/verified-notification.ts';

let directory: string;
let path: string;
let disk: SmallDisk | undefined;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});

afterEach(() => {
  disk?.remove();
  disk = undefined;
  rmSync(directory, { recursive: true });
});

/** A database with one event and one sealed secret. */
async function makeDatabase(): Promise<void> {
  const store = await openStore({ url: `sqlite:${path}`, clock: systemClock, threads: false });
  await store.record(verified());
  await store.addSecret('hook0001', 'the secret of hook0001');
  await store.close();
}

/** The same as a process, in this one: what it watches its process with goes when it has ended. */
async function serveHere(options: CliOptions): Promise<CliRun> {
  const events = ['uncaughtException', 'unhandledRejection', 'beforeExit', 'exit'];
  const before = new Map(events.map((event) => [event, process.rawListeners(event)]));
  try {
    return await runCli(['serve'], options);
  } finally {
    for (const event of events) {
      const added = process.rawListeners(event).filter((one) => !before.get(event)?.includes(one));
      for (const one of added) process.removeListener(event, one as () => void);
    }
  }
}

/** How many of the refusals are still to be of a process of their own. */
let processes = size({ small: 1, full: Number.POSITIVE_INFINITY });

/** `hookkit serve` on it has to end at once, with one line that says what to do. */
async function expectRefusal(...parts: readonly string[]): Promise<void> {
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    ADMIN_PORT: '0',
    DATABASE_URL: `sqlite:${path}`,
    LOG_LEVEL: 'silent',
  };
  const run = await (processes-- > 0 ? runCli(['serve'], { env }) : serveHere({ env }));
  expect(run.stderr).toMatch(/^hookkit: [^\n]+\n$/);
  for (const part of parts) expect(run.stderr).toContain(part);
  expect(run.stderr).not.toMatch(/\bat \w+.*:\d+:\d+|node_modules/);
  expect([run.code, run.stdout]).toEqual([1, '']);
}

describe('a start is refused in one line', () => {
  test('when the database is of a newer version, with both versions, and leaves it as it is', async () => {
    await makeDatabase();
    const db = new Database(path);
    db.pragma('user_version = 99');
    db.close();
    const before = readFileSync(path);
    await expectRefusal(path, 'schema version 99', 'run the program that it is of');
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test('when the key file is another one, with what is needed, and goes well once the right one is back', async () => {
    await makeDatabase();
    const right = readFileSync(`${path}.key`);
    writeFileSync(`${path}.key`, randomBytes(32).toString('base64'));
    await expectRefusal('do not open with this key', 'SECRETS_KEY');
    writeFileSync(`${path}.key`, right);
    const store = await openStore({ url: `sqlite:${path}`, clock: systemClock, threads: false });
    expect(await store.secrets()).toMatchObject([{ secret: 'the secret of hook0001' }]);
    await store.close();
  });

  test('when the key file is gone, with its path, and makes no new one', async () => {
    await makeDatabase();
    rmSync(`${path}.key`);
    await expectRefusal(`${path}.key is missing`, 'restore the key file');
    expect(existsSync(`${path}.key`)).toBe(false);
  });

  test('when the key file holds no key, with its path', async () => {
    await makeDatabase();
    writeFileSync(`${path}.key`, 'no key');
    await expectRefusal(`${path}.key does not hold a key`);
  });

  test('when the file is no database, with what to do, and leaves it as it is', async () => {
    const text = 'somebody else’s file '.repeat(400);
    writeFileSync(path, text);
    await expectRefusal(path, 'not a database', 'restore a backup');
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('when the database is damaged at its start, with what to do', async () => {
    await makeDatabase();
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 100, 4096);
    writeFileSync(path, bytes);
    await expectRefusal(path, 'malformed', 'restore a backup');
  });

  test('when its directory cannot be made, with the directory', async () => {
    writeFileSync(join(directory, 'file'), '');
    path = join(directory, 'file', 'receiver.db');
    await expectRefusal(path, 'its directory must exist');
  });

  test('when it is a directory, with what to do', async () => {
    mkdirSync(path);
    await expectRefusal(path, 'is a directory and not a file', 'set another path in DATABASE_URL');
  });

  test('when its disk can only be read, with what to do', async () => {
    disk = mountSmallDisk('ro,size=1m');
    if (!disk) return;
    path = join(disk.path, 'receiver.db');
    await expectRefusal(path, 'unable to open', 'allowed to write');
    path = join(disk.path, 'deeper', 'receiver.db');
    await expectRefusal(path, 'directory');
  });

  test('when its disk is full, with what to do, and leaves no half a key behind', async () => {
    disk = mountSmallDisk('size=1m');
    if (!disk) return;
    disk.fill();
    path = join(disk.path, 'receiver.db');
    await expectRefusal(path, 'full', 'make room on its disk');
    expect(existsSync(`${path}.key`)).toBe(false);
  });
});

describe('a start goes well', () => {
  test('when the directory is missing, and makes it', async () => {
    path = join(directory, 'a', 'b', 'receiver.db');
    await makeDatabase();
    expect(existsSync(path)).toBe(true);
  });
});
