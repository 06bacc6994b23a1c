import { Logger, makeWorkerUtils, run, type Task, type WorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { AT_ONCE } from './queue.ts';

/** The task of all jobs. */
export const TASK = 'nothing';

export interface GraphileOptions {
  readonly url: string;
  /** with its local queue and results in batches, sized as its page on performance has them */
  readonly hasLocalQueue: boolean;
  /** false: a commit does not wait for the disk */
  readonly isDurable: boolean;
  /** how long it waits after it has found no job, in place of two seconds */
  readonly pollMs?: number;
}

export interface GraphileQueue {
  readonly utils: WorkerUtils;
  /** Runs a task for each job, from now on. */
  start(task: Task): Promise<void>;
  /** How many jobs are not finished: it deletes those that are. */
  left(): Promise<number>;
}

function fail(error: Error): never {
  throw error;
}

/** Opens graphile-worker on a database, and makes its tables. */
export async function openGraphile({
  url,
  hasLocalQueue,
  isDurable,
  pollMs,
}: GraphileOptions): Promise<GraphileQueue> {
  const pgPool = new pg.Pool({
    connectionString: url,
    max: AT_ONCE + 1,
    options: isDurable ? undefined : '-c synchronous_commit=off',
  });
  // Its own pool would have such listeners; that one is opened when the clock has started.
  pgPool.on('error', fail).on('connect', (client) => client.on('error', fail));
  const worker = {
    concurrentJobs: AT_ONCE,
    maxPoolSize: AT_ONCE + 1,
    ...(pollMs !== undefined && { pollInterval: pollMs }),
    // The default writes a line for each job.
    logger: new Logger(() => () => {}),
    ...(hasLocalQueue && { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }),
  };
  const utils = await makeWorkerUtils({ pgPool, preset: { worker } });
  await utils.migrate();
  return {
    utils,
    start: async (task) => {
      await run({
        pgPool,
        preset: { worker },
        taskList: { [TASK]: task },
        crontab: '',
        noHandleSignals: true,
      });
    },
    left: async () => {
      const { rows } = await pgPool.query<{ jobs: number }>(
        'SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs',
      );
      return rows[0]?.jobs ?? Number.NaN;
    },
  };
}
