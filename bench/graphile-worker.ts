import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';

export interface QueueOptions {
  /** of a database of its own */
  readonly url: string;
  readonly jobs: number;
}

// A job queue with a backlog of jobs that do nothing, set for throughput as its documentation says: its local queue and results in batches,
// 16 jobs at once. It deletes jobs that are done. Tells how long they took, in milliseconds.
const { url, jobs }: QueueOptions = JSON.parse(process.argv[2] ?? '{}');
process.on('disconnect', () => process.exit());
const pool = new pg.Pool({ connectionString: url, max: 17 });
pool.on('error', fail).on('connect', (client) => client.on('error', fail));
const preset = {
  worker: {
    concurrentJobs: 16,
    maxPoolSize: 17,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    logger: new Logger(() => () => {}), // the default writes a line for each job
  },
};
const utils = await makeWorkerUtils({ pgPool: pool, preset });
await utils.migrate();
const all = Array.from({ length: jobs }, (_, n) => ({ identifier: 'nothing', payload: { n } }));
for (let from = 0; from < jobs; from += 1000) await utils.addJobs(all.slice(from, from + 1000));

const began = performance.now();
await run({
  pgPool: pool,
  preset,
  taskList: { nothing: async () => {} },
  crontab: '',
  noHandleSignals: true,
});
const count = 'SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs';
while ((await pool.query<{ jobs: number }>(count)).rows[0]?.jobs !== 0) await sleep(50);
process.send?.(performance.now() - began);

function fail(error: Error): never {
  throw error;
}
