import { join } from 'node:path';
import { systemClock } from '../../src/base/clock.ts';
import { openStore } from '../../src/store/open.ts';
import { toVerified } from '../../src/store/verified.ts';
import { mediaId } from '../fill.ts';
import { dispatchAll } from './dispatch-all.ts';
import { type QueueOptions, queueOptions, timeQueue } from './queue.ts';

export interface OurQueueOptions extends QueueOptions {
  /** how many media the events are of */
  readonly resources: number;
  /** a DATABASE_URL, in place of a new SQLite database */
  readonly url?: string;
}

// Events from pending to handled: claimed, handled, their results and attempts on record, one at a time of each media.
const {
  directory,
  jobs,
  resources,
  url = `sqlite:${join(directory, 'receiver.db')}`,
} = queueOptions<OurQueueOptions>();
const store = await openStore({ url, clock: systemClock, secretsKey: Buffer.alloc(32) });

const now = Date.now();
async function record(n: number): Promise<void> {
  const body = {
    event: 'media_updated',
    media_id: mediaId(n % resources),
    webhook_id: 'hook0001',
    site_id: 'site0001',
    event_time: new Date(now + n).toISOString(),
  };
  await store.record(toVerified(body, JSON.stringify(body)));
}

const AT_ONCE = 1000;
for (let n = 0; n < jobs; n += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, jobs - n) }, (_, index) => record(n + index)));
}
await timeQueue(
  jobs,
  () => dispatchAll(store, jobs),
  async () => jobs - (await store.count({ status: 'handled' })),
);
