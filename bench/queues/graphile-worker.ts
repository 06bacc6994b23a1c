import { type GraphileOptions, openGraphile, TASK } from './graphile-queue.ts';
import { addAll, queueOptions, type ServerQueueOptions, timeQueue, untilNone } from './queue.ts';

// Jobs of one key are of one named queue, which graphile-worker runs one at a time.
const options = queueOptions<ServerQueueOptions & GraphileOptions>();
const { jobs, isOneKey, keys = isOneKey ? 1 : undefined } = options;
const { utils, start, left } = await openGraphile(options);
await addAll(jobs, (numbers) =>
  utils.addJobs(
    numbers.map((n) => ({ identifier: TASK, payload: { n }, ...(keys && { queueName: `key ${n % keys}` }) })),
  ),
);

let ran = 0;
await timeQueue(
  jobs,
  async () => {
    await new Promise<void>((resolve, reject) => {
      start(() => void (++ran === jobs && resolve())).catch(reject);
    });
    await untilNone(left);
  },
  left,
);
