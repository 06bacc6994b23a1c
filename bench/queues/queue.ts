export interface QueueOptions {
  readonly directory: string;
  readonly jobs: number;
  /** what a commit waits for, where the queue leaves that to its user */
  readonly synchronous: 'FULL' | 'NORMAL';
}

/** What became of a queue that was full when the clock started. */
export interface QueueFigures {
  readonly perSecond: number;
  /** microseconds of processor time a job, of all threads of the process */
  readonly cpuMicros: number;
}

/** The options of this process. */
export function queueOptions<O extends QueueOptions>(): O {
  return JSON.parse(process.argv[2] ?? '{}');
}

/** Times how long `run` takes to do all jobs, checks that none is left, and tells the benchmark. */
export async function timeQueue(
  jobs: number,
  run: () => Promise<unknown>,
  left: () => number | Promise<number>,
): Promise<void> {
  const before = process.cpuUsage();
  const began = performance.now();
  await run();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(before);
  const undone = await left();
  if (undone !== 0) throw new Error(`${undone} of ${jobs} jobs were not done`);
  process.send?.({ perSecond: jobs / seconds, cpuMicros: (user + system) / jobs } satisfies QueueFigures);
}
