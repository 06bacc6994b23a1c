import { Worker } from 'node:worker_threads';
import { expect, test } from '@jest/globals';
import { ThreadLink } from '../../../src/store/threads/thread-link.ts';
import type { OddOperations } from '../../support/odd-connection.ts';

const THREAD = new URL('../../support/odd-store-thread.ts', import.meta.url);
const REQUESTS = 800;
/** How many requests wait for their replies at any time: half of them are posted, half wait for those. */
const AT_ONCE = 40;

/** Keeps this thread busy for longer than the other one takes to answer. */
function work(): void {
  for (const end = performance.now() + 2; performance.now() < end; );
}

test('leaves the event loop its turns, when replies are followed by requests for as long as it takes and the thread is quicker', async () => {
  const link = await ThreadLink.over<OddOperations>(new Worker(THREAD));
  let replies = 0;
  let turns = 0;
  const client = async () => {
    while (replies < REQUESTS) {
      await link.request('echo', replies);
      replies++;
      work();
    }
  };
  const half = () => Promise.all(Array.from({ length: AT_ONCE / 2 }, client));
  const first = half();
  const second = new Promise((resolve) => {
    setImmediate(() => resolve(half())); // the first are under way
  });
  const count = () => {
    turns++;
    if (replies < REQUESTS) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all([first, second]);
  expect(turns).toBeGreaterThan(REQUESTS / AT_ONCE / 2);
  await link.close();
});
