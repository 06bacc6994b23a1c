import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { checkDatabase } from '../../../src/store/check-files.ts';
import { isThere } from '../../../src/store/is-there.ts';
import { openStore } from '../../../src/store/open.ts';
import { LOG_BYTES, openWriter } from '../../../src/store/sqlite/open-sqlite.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { OWN_THREADS } from '../../support/own-threads.ts';
import { size } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

const SECRET = 'a-webhook-secret-that-must-not-show';
const clock = new VirtualClock();
let directory: string;
let path: string;

beforeEach(async () => {
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
});

afterEach(() => rmSync(directory, { recursive: true }));

function unusable(...parts: readonly string[]): unknown {
  const message = expect.stringMatching(new RegExp(parts.join('.*'), 's'));
  return expect.objectContaining({ code: 'STORE_UNUSABLE', message });
}

interface Opening {
  readonly secretsKey?: Buffer;
  readonly threads?: boolean;
}

/** Opens a store as a server does, does something with it, and closes it. */
async function withStore(
  use: (store: SqliteStore) => Promise<unknown> = async () => {},
  { secretsKey, threads = OWN_THREADS }: Opening = {},
): Promise<void> {
  const store = await SqliteStore.open({ path, clock, secretsKey, threads });
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

/** For what a thread could do otherwise. */
const WITH_THREADS: Opening = { threads: true };

/** The same as a command does: for what comes before and after that which is tested, and for what no thread does. */
const withLocalStore = (use?: (store: SqliteStore) => Promise<unknown>, secretsKey?: Buffer) =>
  withStore(use, { threads: false, ...(secretsKey && { secretsKey }) });

describe('durability', () => {
  test('is FULL with a write-ahead log, when the writing connection is opened', () => {
    const db = openWriter(path);
    expect(db.pragma('synchronous', { simple: true })).toBe(2);
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
    db.close();
  });

  test('is the same on the thread that writes, when a store is open', async () => {
    await withStore(async (store) => {
      expect(await store.settings()).toEqual({ synchronous: 2, journalMode: 'wal' });
    }, WITH_THREADS);
  });

  test('is the same, when the database was made in another journal mode', async () => {
    const db = new Database(path);
    db.pragma('journal_mode = DELETE');
    db.exec('VACUUM');
    db.close();
    await withStore(async (store) => {
      expect(await store.settings()).toEqual({ synchronous: 2, journalMode: 'wal' });
    });
  });
});

describe('pages', () => {
  test.each([
    { of: 'a new database', pageBytes: 2048, made: () => {} },
    {
      of: 'one that has longer ones',
      pageBytes: 4096,
      made() {
        const db = new Database(path);
        db.pragma('page_size = 4096');
        db.exec('VACUUM');
        db.close();
      },
    },
  ])(
    'have $pageBytes bytes, of $of, and the log is as long as ever before it is moved',
    ({ pageBytes, made }) => {
      made();
      const db = openWriter(path);
      expect(db.pragma('page_size', { simple: true })).toBe(pageBytes);
      const pages = Number(db.pragma('wal_autocheckpoint', { simple: true }));
      expect(Math.abs(pages * (pageBytes + 24) - LOG_BYTES)).toBeLessThan(2 * pageBytes);
      db.close();
    },
  );
});

describe('the schema', () => {
  test('is refused with no other advice than its own, when its path has words of errors of SQLite', async () => {
    path = join(
      directory,
      'unable to open, readonly, locked, full, not a database, encrypted',
      'receiver.db',
    );
    await withLocalStore();
    new Database(path).pragma('user_version = 99');
    const refusal = await withStore(undefined, WITH_THREADS).catch((error: Error) => error.message);
    expect(refusal).toMatch(/version 99 and this program knows \d+: run the newer program$/);
  });

  test('is refused, when it is of a newer version, with both versions and what to do, and not touched', async () => {
    await withLocalStore();
    const known = setVersion(99);
    await expect(withStore()).rejects.toEqual(unusable(path, 'version 99', String(known), 'newer program'));
    expect(setVersion(known)).toBe(99);
    await withLocalStore();
  });

  test('is kept with all data, when the database is opened again', async () => {
    await withLocalStore((store) => store.record(verified()));
    await withStore(async (store) => expect(await store.count({})).toBe(1));
  });

  test('is made once, when several stores open a new database at the same moment', async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => SqliteStore.open({ path, clock })));
    await Promise.all(stores.map((store, number) => store.addSecret(`webhook-${number}`, SECRET)));
    for (const store of stores) expect(await store.secrets()).toHaveLength(4);
    await Promise.all(stores.map((store) => store.close()));
  });
});

/** Sets the version of the schema; gives the one before back. */
function setVersion(version: number): number {
  const db = new Database(path);
  const before = Number(db.pragma('user_version', { simple: true }));
  db.pragma(`user_version = ${version}`);
  db.close();
  return before;
}

describe('the secrets key', () => {
  test('is made beside the database, when none is given, for its owner only', async () => {
    await withLocalStore();
    expect(statSync(`${path}.key`).mode & 0o777).toBe(0o600);
  });

  test('is not written down, when one is given', async () => {
    await withLocalStore(async () => {}, Buffer.alloc(32, 1));
    expect(existsSync(`${path}.key`)).toBe(false);
  });

  test('is refused, when another one sealed the secrets, and the right one opens them as before', async () => {
    const right = Buffer.alloc(32, 1);
    await withLocalStore((store) => store.addSecret('webhook-1', SECRET), right);
    await expect(withLocalStore(undefined, Buffer.alloc(32, 2))).rejects.toEqual(unusable('SECRETS_KEY'));
    await withLocalStore(
      async (store) => expect(await store.secrets()).toMatchObject([{ secret: SECRET }]),
      right,
    );
  });

  test('is asked for, when the database has secrets and the key file is gone, and no new one is made', async () => {
    await withLocalStore((store) => store.addSecret('webhook-1', SECRET));
    rmSync(`${path}.key`);
    await expect(withLocalStore()).rejects.toEqual(unusable(`${path}.key`, 'SECRETS_KEY'));
    expect(existsSync(`${path}.key`)).toBe(false);
  });

  test('is asked for, when the key file holds no key', async () => {
    await withLocalStore();
    writeFileSync(`${path}.key`, 'nonsense');
    await expect(withLocalStore()).rejects.toEqual(unusable(`${path}.key`));
  });

  test('leaves no secret to be seen, when secrets are stored, in any file beside its own', async () => {
    const store = await SqliteStore.open({ path, clock, threads: false });
    await store.addSecret('webhook-1', SECRET);
    const forms = [SECRET, Buffer.from(SECRET).toString('hex'), Buffer.from(SECRET).toString('base64url')];
    const seen = () =>
      readdirSync(directory).filter((name) => {
        const bytes = readFileSync(join(directory, name));
        return forms.some((form) => bytes.includes(form));
      });
    expect(seen()).toEqual([]);
    await store.close();
    expect(seen()).toEqual([]);
  });
});

describe('the file', () => {
  test('is made with its directories, when they are not there', async () => {
    path = join(directory, 'a', 'b', 'receiver.db');
    await withLocalStore((store) => store.ping());
    expect(existsSync(path)).toBe(true);
  });

  test('is refused, when its directory cannot be made, with the directory', async () => {
    writeFileSync(join(directory, 'file'), '');
    path = join(directory, 'file', 'receiver.db');
    await expect(withStore()).rejects.toEqual(unusable(join(directory, 'file')));
  });

  test('is refused, when it is a directory', async () => {
    mkdirSync(path);
    await expect(withStore()).rejects.toEqual(unusable(path, 'a directory', 'DATABASE_URL'));
    expect(() => isThere(path)).toThrow(unusable(path, 'a directory'));
  });

  test('is refused, when it is a device', async () => {
    const device = process.platform === 'win32' ? '\\\\.\\NUL' : '/dev/null';
    const opening = SqliteStore.open({ path: device, clock, threads: false });
    await expect(opening).rejects.toEqual(unusable(device, 'a device', 'DATABASE_URL'));
  });

  test('is refused, when it is not a database, with its path, and left as it is', async () => {
    const text = 'this is somebody else’s file. '.repeat(300);
    writeFileSync(path, text);
    await expect(withStore(undefined, WITH_THREADS)).rejects.toEqual(unusable(path, 'not a database'));
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  test('holds everything, when the store was closed, so that a copy of it is a backup', async () => {
    for (let round = 1; round <= size({ small: 2, full: 5 }); round++) {
      await withStore((store) => store.record(verified({ media_id: `media-${round}` })));
      expect(readdirSync(directory).sort()).toEqual(['receiver.db', 'receiver.db.key']);
    }
  });

  test('is refused, when its first page is damaged, with its path', async () => {
    await withLocalStore((store) => store.record(verified()));
    for (const kind of ['wal', 'shm']) rmSync(`${path}-${kind}`, { force: true }); // nothing to mend it from
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 100, 4096);
    writeFileSync(path, bytes);
    await expect(withStore()).rejects.toEqual(unusable(path));
  });
});

describe('openStore', () => {
  test('opens a SQLite file, when the URL names one', async () => {
    const store = await openStore({ url: `sqlite:${path}`, clock, threads: OWN_THREADS });
    expect((await store.record(verified())).status).toBe('accepted');
    await store.close();
    expect(existsSync(path)).toBe(true);
  });

  test('refuses, when the URL names another kind of database, and says what it takes', async () => {
    const open = async () => openStore({ url: 'mysql://user:password@host/db', clock });
    await expect(open).rejects.toEqual(unusable('DATABASE_URL', 'sqlite:'));
    await expect(open).rejects.not.toThrow(/password/);
  });
});

describe('the directory of a database', () => {
  // Node's own way of making a directory with its parents never comes back from such a place.
  const onLinux = process.platform === 'linux' ? test : test.skip;
  onLinux('is told, when nothing can be made where it is to be', async () => {
    const opening = SqliteStore.open({ path: '/proc/nothing/below/receiver.db', clock, threads: false });
    await expect(opening).rejects.toEqual(unusable('cannot make the directory /proc/nothing'));
  });

  test('is made for its owner alone, with its parents, also when several processes begin at once', async () => {
    const deep = join(directory, 'one', 'two', 'receiver.db');
    const opening = () => SqliteStore.open({ path: deep, clock });
    const stores = await Promise.all([opening(), opening(), opening()]);
    for (const store of stores) await store.close();
    expect(statSync(join(directory, 'one')).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, 'one', 'two')).mode & 0o777).toBe(0o700);
  });
});

describe('an empty file beside a key, as a backup that was cut short leaves it,', () => {
  const emptied = async (content = '') => {
    await withLocalStore((store) => store.record(verified()));
    for (const kind of ['', '-wal', '-shm']) rmSync(path + kind, { force: true });
    writeFileSync(path, content);
  };

  test('is refused at each start, also by the doctor', async () => {
    await emptied();
    const refusal = unusable(path, 'is empty, although there is a key', 'remove the file');
    await expect(withStore(undefined, WITH_THREADS)).rejects.toEqual(refusal);
    await expect(withStore()).rejects.toEqual(refusal);
    expect(checkDatabase(path)).toMatchObject({
      finding: { result: 'FAIL', detail: expect.stringContaining('cut short') },
      isUsable: false,
    });
  });

  test('is filled, when it is of a first start that failed once it had begun', async () => {
    writeFileSync(`${path}.key`, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    const begun = new Database(path);
    begun.pragma('journal_mode = WAL');
    begun.close();
    expect(statSync(path).size).toBeGreaterThan(0);
    await withLocalStore((store) => store.record(verified()));
  });

  test('is waited for, when another process has just made it and is about to fill it', async () => {
    await emptied();
    const other = new Worker(
      `setTimeout(() => {
         const Database = require('better-sqlite3');
         new Database(${JSON.stringify(path)}).exec('CREATE TABLE made (by_another)');
       }, 300)`,
      { eval: true },
    );
    await once(other, 'online');
    openWriter(path).close();
    await other.terminate();
  });

  test('is taken for a new database, when the key is removed, and so is no file beside the key', async () => {
    await emptied();
    rmSync(`${path}.key`);
    await withLocalStore((store) => store.record(verified()));
    for (const kind of ['', '-wal', '-shm']) rmSync(path + kind, { force: true });
    await withLocalStore((store) => store.record(verified()));
  });
});
