import { join } from 'node:path';
import { dispatchAll } from './dispatch-all.ts';
import { handledIn, openOurs, recordAll } from './our-store.ts';
import { type QueueOptions, queueOptions, timeQueue, untilNone } from './queue.ts';

export interface OurQueueOptions extends QueueOptions {
  /** how many media the events are of */
  readonly resources: number;
  /** a DATABASE_URL, in place of a new SQLite database; what it has is handled */
  readonly url?: string;
}

// Events from pending to handled: claimed, handled, their results and attempts on record, one at a time of each media.
const {
  directory,
  jobs,
  resources,
  url = `sqlite:${join(directory, 'receiver.db')}`,
} = queueOptions<OurQueueOptions>();
const store = await openOurs(url);
const handledBefore = await handledIn(store);
const left = async () => handledBefore + jobs - (await handledIn(store));
await recordAll(store, jobs, resources);
await timeQueue(
  jobs,
  () => dispatchAll(store, jobs),
  async () => {
    await untilNone(left); // the store may count them a second later
    return left();
  },
);
