import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test.each([true, false])(
  'every probe of several writes to the log, also when the one before it has (threads: %s)',
  async (threads) => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'receiver.db');
    const store = await SqliteStore.open({ path, clock: new VirtualClock(), threads });
    const sizes = [];
    for (let probe = 0; probe < 6; probe++) {
      await store.ping();
      sizes.push(statSync(`${path}-wal`).size);
    }
    await store.close();
    rmSync(directory, { recursive: true });
    expect(sizes).toEqual([...new Set(sizes)].sort((a, b) => a - b));
  },
);

test.each([512, 2048, 4096])(
  'every probe writes more than a block of the disk has room for, as one of a full disk still may (pages of %d bytes)',
  async (pageBytes) => {
    const directory = await temporaryDirectory();
    const path = join(directory, 'receiver.db');
    const made = new Database(path);
    made.pragma(`page_size = ${pageBytes}`);
    made.exec('VACUUM');
    made.close();
    const store = await SqliteStore.open({ path, clock: new VirtualClock(), threads: false });
    const sizes: number[] = [];
    for (let probe = 0; probe < 4; probe++) {
      await store.ping();
      sizes.push(statSync(`${path}-wal`).size);
    }
    await store.close();
    rmSync(directory, { recursive: true });
    const written = sizes.slice(1).map((size, index) => size - (sizes[index] ?? 0));
    expect(Math.min(...written)).toBeGreaterThan(4096);
  },
);
