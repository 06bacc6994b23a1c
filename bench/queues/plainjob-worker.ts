import { SqliteError } from 'better-sqlite3';
import { defineWorker } from 'plainjob';
import { JOB, openQueue, silent } from './plainjob-queue.ts';
import { queueOptions } from './queue.ts';

// One of several worker processes on the same database. Ends with the one that started it.
const { queue } = openQueue(queueOptions());
const worker = defineWorker(JOB, () => {}, { queue, logger: silent });
process.on('disconnect', () => process.exit());
process.on('message', work);
process.send?.('ready');

/** A worker ends at once where it finds the database locked, as happens with two of them: whoever runs it starts it again. */
function work(): void {
  worker.start().catch((error: unknown) => {
    if (!(error instanceof SqliteError) || error.code !== 'SQLITE_BUSY') throw error;
    work();
  });
}
