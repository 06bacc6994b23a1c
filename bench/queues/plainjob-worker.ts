import { defineWorker } from 'plainjob';
import { JOB, openQueue, silent } from './plainjob-queue.ts';
import { queueOptions } from './queue.ts';

// One of several worker processes on the same database. Ends with the one that started it.
const { queue } = openQueue(queueOptions());
const worker = defineWorker(JOB, () => {}, { queue, logger: silent });
process.on('disconnect', () => process.exit());
process.on('message', () => void worker.start());
process.send?.('ready');
