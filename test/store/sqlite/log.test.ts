import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import Database from 'better-sqlite3';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { LONGEST_LOG } from '../../../src/store/sqlite/open-sqlite.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { eventually } from '../../support/eventually.ts';
import { size, some } from '../../support/sizes.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

const MB = 1024 * 1024;
const clock = new VirtualClock();
let directory: string;
let path: string;
let store: SqliteStore;
let count = 0;

beforeEach(async () => {
  count = 0;
  directory = await temporaryDirectory();
  path = join(directory, 'receiver.db');
  store = await SqliteStore.open({ path, clock });
});

afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const logSize = () => statSync(`${path}-wal`).size;

/**
 * Records large notifications, a few in each commit, until so many bytes were written.
 * @param pause waited for after every 8 MB
 * @returns the longest the log was
 */
async function write(bytes: number, pause: () => Promise<void> = async () => {}): Promise<number> {
  const note = 'x'.repeat(MB / 16);
  let longest = 0;
  for (let written = 0; written < bytes; written += 4 * note.length) {
    await Promise.all(
      Array.from({ length: 4 }, () => store.record(verified({ media_id: `media-${count++}`, note }))),
    );
    longest = Math.max(longest, logSize());
    if (written % (8 * MB) === 0) await pause();
  }
  return longest;
}

describe('the log', () => {
  test.each(some(1, ['the same process', 'another one']))(
    'stays short, when queries of %s come one after the other without a pause, and they go on meanwhile',
    async (whose) => {
      const reading = whose === 'another one' ? await SqliteStore.open({ path, clock }) : store;
      let isOver = false;
      let queries = 0;
      const loop = async () => {
        while (!isOver) {
          await reading.search({ q: 'nowhere' }, { limit: 50, before: undefined, reach: 400 });
          queries++;
        }
      };
      const loops = [loop(), loop(), loop()];
      // However slow the machine is: the queries of a loop never stop, and each sees only a little written.
      const longest = await write(size({ small: 2.1, full: 6 }) * LONGEST_LOG, () => {
        const before = queries;
        return eventually('another query has ended', () => queries > before);
      });
      isOver = true;
      await Promise.all(loops);
      if (reading !== store) await reading.close();
      // Beside a busy machine the log may find a free moment later; it never grows with all that is written.
      expect(longest).toBeLessThan(size({ small: 2, full: 3 }) * LONGEST_LOG);
    },
    60_000,
  );

  test('grows, when another program keeps a read transaction open, without holding up writes or queries, and is cut once that ends', async () => {
    await write(MB);
    const other = new Database(path, { readonly: true });
    other.exec('BEGIN');
    other.prepare('SELECT count(*) FROM events').get();
    const most = size({ small: 1.3, full: 2 }) * LONGEST_LOG;
    expect(await write(most)).toBeGreaterThan(most);
    expect(await store.count({})).toBe(count);
    other.exec('COMMIT');
    other.close();
    // The first commit moves all of it, the second begins anew.
    await write(MB);
    expect(logSize()).toBeLessThanOrEqual(LONGEST_LOG);
    await store.count({});
  }, 60_000);

  test('is reset before the next query, when it is too long, although nothing is written', async () => {
    const other = new Database(path, { readonly: true });
    other.exec('BEGIN');
    other.prepare('SELECT count(*) FROM events').get();
    await write(1.2 * LONGEST_LOG);
    other.exec('COMMIT');
    other.close();
    expect(await store.count({})).toBe(count);
    await store.ping();
    expect(logSize()).toBeLessThanOrEqual(LONGEST_LOG);
  }, 60_000);
});
