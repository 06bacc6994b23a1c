import { join } from 'node:path';
import type { Database } from 'better-sqlite3';
import { buildDBClient, Runner, SqliteQueue } from 'liteque';
import { queueOptions, timeQueue } from './queue.ts';

const { directory, jobs, synchronous } = queueOptions();
const db = buildDBClient(join(directory, 'liteque.db'), { runMigrations: true });
const client: Database = Reflect.get(Reflect.get(db, 'session'), 'client');
// liteque dequeues with an async function within a transaction, which this better-sqlite3 refuses. Before it did, the
// transaction was over at the function's first await, and each statement was its own: so it is here.
Reflect.set(client, 'transaction', (run: unknown) => ({ deferred: run }));

interface Job {
  readonly n: number;
}
const queue = new SqliteQueue<Job>('nothing', db, {
  defaultJobArgs: { numRetries: 2 },
  keepFailedJobs: false,
});
client.pragma('synchronous = OFF');
for (let n = 0; n < jobs; n++) await queue.enqueue({ n });
client.pragma(`synchronous = ${synchronous}`);

const runner = new Runner<Job>(
  queue,
  { run: async () => {} },
  { concurrency: 16, pollIntervalMs: 10, timeoutSecs: 60 },
);
await timeQueue(
  jobs,
  () => runner.runUntilEmpty(),
  async () => Object.values(await queue.stats()).reduce((sum, count) => sum + count, 0),
);
