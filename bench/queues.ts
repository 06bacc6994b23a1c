import { setTimeout as sleep } from 'node:timers/promises';
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { PgBoss } from 'pg-boss';

export interface QueueOptions {
  readonly queue: 'graphile-worker' | 'pg-boss';
  /** of a database of its own */
  readonly url: string;
  readonly jobs: number;
}

// A job queue with a backlog of jobs that do nothing, each set for throughput as its documentation says. Tells how long they took, in
// milliseconds.
const { queue, url, jobs }: QueueOptions = JSON.parse(process.argv[2] ?? '{}');
process.on('disconnect', () => process.exit());
const pool = new pg.Pool({ connectionString: url, max: 17 });
pool.on('error', fail).on('connect', (client) => client.on('error', fail));
const start = await (queue === 'pg-boss' ? withPgBoss : withGraphileWorker)();
const began = performance.now();
await start();
process.send?.(performance.now() - began);

/** Its local queue and results in batches, as its page on performance has them; 16 at once. It deletes jobs that are done. */
async function withGraphileWorker() {
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
  await inThousands((numbers) =>
    utils.addJobs(numbers.map((n) => ({ identifier: 'nothing', payload: { n } }))),
  );
  return async () => {
    await run({
      pgPool: pool,
      preset,
      taskList: { nothing: async () => {} },
      crontab: '',
      noHandleSignals: true,
    });
    await untilNone('SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs');
  };
}

/** A worker that claims and ends 200 at a time. It keeps jobs that are done. */
async function withPgBoss() {
  const boss = new PgBoss({ connectionString: url, useListenNotify: true });
  boss.on('error', fail);
  await boss.start();
  await boss.createQueue('nothing', { notify: true });
  await inThousands((numbers) =>
    boss.insert(
      'nothing',
      numbers.map((n) => ({ data: { n } })),
    ),
  );
  return async () => {
    const work = { batchSize: 200, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    await boss.work('nothing', work, async () => {});
    await untilNone(
      "SELECT count(*)::int AS jobs FROM pgboss.job WHERE name = 'nothing' AND state <> 'completed'",
    );
  };
}

async function inThousands(add: (numbers: number[]) => Promise<unknown>): Promise<void> {
  const numbers = Array.from({ length: jobs }, (_, n) => n);
  for (let from = 0; from < jobs; from += 1000) await add(numbers.slice(from, from + 1000));
}

async function untilNone(count: string): Promise<void> {
  while ((await pool.query<{ jobs: number }>(count)).rows[0]?.jobs !== 0) await sleep(50);
}

function fail(error: Error): never {
  throw error;
}
