import { setTimeout as sleep } from 'node:timers/promises';
import { defineWorker, JobStatus } from 'plainjob';
import { messageFrom, startChild } from '../children.ts';
import { JOB, openQueue, silent } from './plainjob-queue.ts';
import { type QueueOptions, queueOptions, timeQueue } from './queue.ts';

export interface PlainjobOptions extends QueueOptions {
  /** 1: a worker in this process; more: so many worker processes, as its documentation advises for high throughput */
  readonly processes: number;
}

const options = queueOptions<PlainjobOptions>();
const { jobs, processes } = options;
const { queue } = openQueue(options);
queue.addMany(
  JOB,
  Array.from({ length: jobs }, (_, n) => ({ n })),
);

/** Two processes now and then find the database locked; plainjob gives the job up then, and nobody would wait for it for ever. */
function left(): number {
  const ended = [JobStatus.Done, JobStatus.Failed].map((status) => queue.countJobs({ type: JOB, status }));
  return ended.reduce((rest, count) => rest - count, jobs);
}

/** One worker, which does one job after the other: plainjob has no other way within a process. */
async function here(): Promise<void> {
  let done = 0;
  const worker = defineWorker(JOB, () => {}, {
    queue,
    logger: silent,
    onCompleted: () => void (++done === jobs && worker.stop()),
  });
  await worker.start();
}

async function inProcesses(): Promise<void> {
  for (const child of children) child.send('go');
  while (left() > 0) {
    if (children.some(({ exitCode }) => exitCode !== null)) throw new Error('a worker process has ended');
    await sleep(20);
  }
}

const children = Array.from({ length: processes > 1 ? processes : 0 }, () =>
  startChild('./queues/plainjob-worker.ts', options),
);
await Promise.all(children.map((child) => messageFrom(child)));
await timeQueue(jobs, processes > 1 ? inProcesses : here, left);
for (const child of children) child.kill('SIGKILL');
