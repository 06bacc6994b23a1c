import { type BossOptions, openBoss, QUEUE } from './boss-queue.ts';
import { addAll, queueOptions, type ServerQueueOptions, timeQueue, untilNone } from './queue.ts';

// Jobs of one key have that singletonKey, in a queue whose policy allows one of a key to be active.
const options = queueOptions<ServerQueueOptions & BossOptions>();
const { jobs, isOneKey } = options;
const { boss, start, left } = await openBoss(options);
await addAll(jobs, (numbers) =>
  boss.insert(
    QUEUE,
    numbers.map((n) => ({ data: { n }, ...(isOneKey && { singletonKey: 'one' }) })),
  ),
);

let ran = 0;
await timeQueue(
  jobs,
  async () => {
    await new Promise<void>((resolve, reject) => {
      start((batch) => {
        ran += batch.length;
        if (ran >= jobs) resolve();
      }).catch(reject);
    });
    await untilNone(left);
  },
  left,
);
