import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { getPriority } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { verified } from '../../support/verified-notification.ts';

/** How far threads give way to others (their `nice` values), those left out that do as the main thread does. */
function givingWay(): number[] {
  const found: number[] = [];
  for (const thread of readdirSync('/proc/self/task')) {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1');
    found.push(Number(stat.slice(stat.lastIndexOf(')')).split(' ')[17]));
  }
  return found.filter((nice) => nice !== getPriority());
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('the thread that queries gives way to all others, and it alone', async () => {
  expect(givingWay()).toEqual([]);
  const directory = await temporaryDirectory();
  const store = await SqliteStore.open({ path: join(directory, 'receiver.db'), clock: new VirtualClock() });
  try {
    await store.record(verified());
    expect(givingWay()).toEqual([]);
    await store.overview();
    expect(givingWay()).toEqual([Math.min(getPriority() + 10, 19)]);
  } finally {
    await store.close();
    rmSync(directory, { recursive: true });
  }
});
