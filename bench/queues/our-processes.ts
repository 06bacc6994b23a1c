import { messageFrom, startChild } from '../children.ts';
import type { Share } from './our-process.ts';
import { openOurs, recordAll } from './our-store.ts';
import { queueOptions, type ServerQueueOptions, tell } from './queue.ts';

export interface ProcessesOptions extends ServerQueueOptions {
  readonly processes: number;
}

// As ours.ts, by several processes on one database. Each is ready before the clock starts.
const { url, jobs, isOneKey, processes } = queueOptions<ProcessesOptions>();
const store = await openOurs(url);
await recordAll(store, jobs, isOneKey ? 1 : jobs);
const children = Array.from({ length: processes }, () => startChild('./queues/our-process.ts', { url }));
await Promise.all(children.map((child) => messageFrom(child)));

const shares = new Map<number, Share>();
const sum = (of: (share: Share) => number) => [...shares.values()].map(of).reduce((a, b) => a + b, 0);
const began = performance.now();
await new Promise<void>((resolve, reject) => {
  for (const [index, child] of children.entries()) {
    child.on('exit', (code) => reject(new Error(`a process has ended with ${code}`)));
    child.on('message', (share: Share) => {
      shares.set(index, share);
      if (sum(({ handled }) => handled) >= jobs) resolve();
    });
    child.send('go');
  }
});
await tell({
  jobs,
  seconds: (performance.now() - began) / 1000,
  cpuMicros: sum(({ cpuMicros }) => cpuMicros),
  left: async () => jobs - (await store.count({ status: 'handled' })),
});
for (const child of children) child.kill('SIGKILL');
