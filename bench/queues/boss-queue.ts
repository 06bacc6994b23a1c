import pg from 'pg';
import { type Job, PgBoss } from 'pg-boss';
import { say } from '../measure.ts';

/** The queue of all jobs. */
export const QUEUE = 'nothing';

export interface BossOptions {
  readonly url: string;
  /** how many jobs it claims, and hands to the handler, at once */
  readonly batchSize: number;
  readonly isOneKey: boolean;
}

export interface BossQueue {
  readonly boss: PgBoss;
  /** Hands jobs to a handler, from now on. */
  start(handler: (jobs: readonly Job<{ n: number }>[]) => void): Promise<void>;
  /** How many jobs are not completed. */
  left(): Promise<number>;
}

/** Opens pg-boss on a database, and makes its tables and the queue. */
export async function openBoss({ url, batchSize, isOneKey }: BossOptions): Promise<BossQueue> {
  const boss = new PgBoss({ connectionString: url, useListenNotify: true });
  // Of its maintenance too, which nothing here depends on. A job that failed is not done, and is missed at the end.
  boss.on('error', (error) => say(`pg-boss: ${error.message}`));
  await boss.start();
  await boss.createQueue(QUEUE, { notify: true, ...(isOneKey && { policy: 'singleton' }) });
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  return {
    boss,
    start: async (handler) => {
      // A batch that is not full, as one of a single job is, would have it wait for the next notification or poll.
      const work = {
        batchSize: isOneKey ? 1 : batchSize,
        burstWhenBatchFull: true,
        pollingIntervalSeconds: 0.5,
      };
      const id: string = await boss.work<{ n: number }>(QUEUE, work, async (jobs) => {
        if (isOneKey) boss.notifyWorker(id);
        handler(jobs);
      });
    },
    left: async () => {
      const { rows } = await pool.query<{ jobs: number }>(
        "SELECT count(*)::int AS jobs FROM pgboss.job WHERE name = $1 AND state <> 'completed'",
        [QUEUE],
      );
      return rows[0]?.jobs ?? Number.NaN;
    },
  };
}
