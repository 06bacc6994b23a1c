import { argv } from 'node:process';
import { VirtualClock } from '../../src/base/virtual-clock.ts';
import { SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { verified } from './verified-notification.ts';

/** What `record-until-full.ts PATH` prints, as JSON. */
export interface FullDisk {
  /** ids of what was acknowledged */
  readonly acknowledged: readonly string[];
  /** how the calls ended that came when there was no room left */
  readonly refusals: readonly unknown[];
  /** what could still be read then */
  readonly readable: number;
}

const BATCH = 25;
const [, , path = ''] = argv;
const store = await SqliteStore.open({ path, clock: new VirtualClock() });
const acknowledged: string[] = [];
const refusals: unknown[] = [];

for (let number = 0; refusals.length < 2 * BATCH; number += BATCH) {
  const batch = Array.from({ length: BATCH }, (_, index) =>
    store.record(verified({ media_id: `media-${number + index}`, title: 'x'.repeat(2000) })),
  );
  for (const answer of await Promise.allSettled(batch)) {
    if (answer.status === 'fulfilled') acknowledged.push(answer.value.id);
    else refusals.push(answer.reason.code);
  }
}
const readable = await store.count({});
await store.close();
process.stdout.write(JSON.stringify({ acknowledged, refusals, readable } satisfies FullDisk));
