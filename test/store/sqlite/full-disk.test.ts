import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { FullDisk } from '../../support/record-until-full.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

const program = fileURLToPath(new URL('../../support/record-until-full.ts', import.meta.url));
/** No file grows past so many blocks of 512 bytes: to SQLite, a disk without room. */
const BLOCKS = 2048;

test('the store, when there is no room left, refuses, goes on reading, and keeps all it acknowledged', async () => {
  const directory = await temporaryDirectory();
  const path = join(directory, 'receiver.db');
  const limited = `ulimit -f ${BLOCKS} && exec "$0" "$@"`;
  const { stdout } = await promisify(execFile)('sh', ['-c', limited, process.execPath, program, path]);
  const { acknowledged, refusals, readable } = JSON.parse(stdout) as FullDisk;
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(new Set(refusals)).toEqual(new Set(['STORE_UNAVAILABLE']));
  expect(readable).toBe(acknowledged.length);

  const store = await SqliteStore.open({ path, clock: new VirtualClock() });
  const found = await Promise.all(acknowledged.map((id) => store.event(id)));
  expect(found.filter((event) => event === undefined)).toEqual([]);
  expect(await store.count({})).toBe(acknowledged.length);
  expect((await store.record(verified({ media_id: 'with room again' }))).status).toBe('accepted');
  await store.close();
  rmSync(directory, { recursive: true });
});
